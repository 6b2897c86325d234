import type { RunContext } from '../run-context.ts';
import { reject, type TemplateResource } from '../template/resource-kind.ts';
import type { ApiModel } from './api-model.ts';
import { type ApiResources, apiResources } from './api-resources.ts';
import type { MethodSetting } from './method-throttles.ts';
import { readAuthorizers } from './read-authorizers.ts';
import { readGatewayResponses } from './read-gateway-responses.ts';
import { readMethods } from './read-methods.ts';
import { readPathTree } from './read-path-tree.ts';

// API Gateway ends an idle stream after 5 minutes, at an edge-optimized endpoint after 30 s.
const REGIONAL_IDLE_MILLISECONDS = 5 * 60_000;
const EDGE_IDLE_MILLISECONDS = 30_000;

interface ApiProperties {
  readonly Body?: unknown;
  readonly BinaryMediaTypes?: string[];
  readonly EndpointConfiguration?: { readonly Types?: string[] };
}

interface StageProperties {
  readonly MethodSettings?: readonly MethodSetting[];
  readonly StageName: string;
}

/**
 * Reads routes, authorizers and gateway responses.
 * @throws Error for a property that would behave differently here than in AWS
 */
export function readRestApi(resources: readonly TemplateResource[], context: RunContext): ApiModel {
  const ofApi = apiResources(resources, context);
  const { api, stage } = findApi(ofApi);
  const { Body, BinaryMediaTypes, EndpointConfiguration } = ofApi.read<ApiProperties>(api);
  if (Body) reject(api, 'an API from an OpenAPI body cannot run locally');
  const { StageName, MethodSettings = [] } = ofApi.read<StageProperties>(stage);

  const authorizers = readAuthorizers(ofApi);
  const rootResourceId = context.resolve({ 'Fn::GetAtt': [api.logicalId, 'RootResourceId'] }, api.logicalId);
  const { root, nodes } = readPathTree(ofApi, api, String(rootResourceId));
  readMethods(ofApi, nodes, authorizers, MethodSettings);

  const isEdge = EndpointConfiguration?.Types?.includes('EDGE') ?? true;
  return {
    apiId: context.resolve({ Ref: api.logicalId }, api.logicalId) as string,
    stage: StageName,
    region: context.region,
    accountId: context.accountId,
    root,
    binaryMediaTypes: BinaryMediaTypes ?? [],
    gatewayResponses: readGatewayResponses(ofApi),
    streamIdleMilliseconds: isEdge ? EDGE_IDLE_MILLISECONDS : REGIONAL_IDLE_MILLISECONDS,
  };
}

function findApi({ ofType }: ApiResources): { api: TemplateResource; stage: TemplateResource } {
  const [api, secondApi] = ofType('RestApi');
  const [stage, secondStage] = ofType('Stage');
  if (!api || !stage) throw new Error('The template has parts of a REST API, but no API with a stage');
  if (secondApi) reject(secondApi, 'only one REST API can run locally');
  if (secondStage) reject(secondStage, 'only one stage can run locally');
  return { api, stage };
}
