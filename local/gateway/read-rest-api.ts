import type { RunContext } from '../run-context.ts';
import { reject, type TemplateResource } from '../template/template-resource.ts';
import type { ApiAuthorizer, ApiModel, GatewayResponse, PathNode } from './api-model.ts';
import type { MethodSetting } from './method-throttles.ts';
import { functionArnIn, readMethods } from './read-methods.ts';

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

export function readRestApi(resources: readonly TemplateResource[], context: RunContext): ApiModel {
  const ofType = (type: string) =>
    resources.filter((resource) => resource.type === `AWS::ApiGateway::${type}`);
  const [api, secondApi] = ofType('RestApi');
  const [stage, secondStage] = ofType('Stage');
  if (!api || !stage) throw new Error('The template has parts of a REST API, but no API with a stage');
  if (secondApi) reject(secondApi, 'only one REST API can run locally');
  if (secondStage) reject(secondStage, 'only one stage can run locally');
  const { Body, BinaryMediaTypes, EndpointConfiguration } = context.read<ApiProperties>(api);
  if (Body) reject(api, 'an API from an OpenAPI body cannot run locally');
  const { StageName, MethodSettings = [] } = context.read<StageProperties>(stage);
  const authorizers = new Map(
    ofType('Authorizer').map((resource) => [resource.logicalId, readAuthorizer(resource, context)]),
  );
  const rootResourceId = context.resolve({ 'Fn::GetAtt': [api.logicalId, 'RootResourceId'] }, api.logicalId);
  const { root, nodes } = readPathTree(ofType('Resource'), api, String(rootResourceId), context);
  readMethods(ofType('Method'), context, nodes, authorizers, MethodSettings);
  const gatewayResponses = ofType('GatewayResponse').map((resource) =>
    context.read<GatewayResponse>(resource),
  );
  const apiId = String(context.resolve({ Ref: api.logicalId }, api.logicalId));
  const isEdge = EndpointConfiguration?.Types?.includes('EDGE') ?? true;
  return {
    apiId,
    arn: context.arnOf('execute-api', apiId),
    stage: StageName,
    accountId: context.accountId,
    root,
    binaryMediaTypes: BinaryMediaTypes ?? [],
    gatewayResponses: new Map(gatewayResponses.map((response) => [response.ResponseType, response])),
    streamIdleMilliseconds: isEdge ? EDGE_IDLE_MILLISECONDS : REGIONAL_IDLE_MILLISECONDS,
  };
}

/** A resource may precede its parent in the template. */
function readPathTree(
  resources: readonly TemplateResource[],
  api: TemplateResource,
  rootResourceId: string,
  { read }: RunContext,
): { root: PathNode; nodes: ReadonlyMap<string, PathNode> } {
  const newNode = (resourceId: string, resourcePath: string, pathPart: string): PathNode => {
    return { resourceId, resourcePath, pathPart, children: [], methods: new Map() };
  };
  const root = newNode(api.logicalId, '/', '');
  const nodes = new Map<string, PathNode>([[rootResourceId, root]]);

  function addNode(resource: TemplateResource): PathNode {
    const known = nodes.get(resource.logicalId);
    if (known) return known;
    const { ParentId, PathPart } = read<{ ParentId: string; PathPart: string }>(resource);
    const parentResource = resources.find(({ logicalId }) => logicalId === ParentId);
    const parent = nodes.get(ParentId) ?? (parentResource && addNode(parentResource));
    if (!parent) return reject(resource, `its parent ${ParentId} is not in the template`);
    const parentPath = parent === root ? '' : parent.resourcePath;
    const node = newNode(resource.logicalId, `${parentPath}/${PathPart}`, PathPart);
    parent.children.push(node);
    nodes.set(resource.logicalId, node);
    return node;
  }

  for (const resource of resources) addNode(resource);
  return { root, nodes };
}

const DEFAULT_CACHE_SECONDS = 300;

interface AuthorizerProperties {
  readonly AuthorizerCredentials?: string;
  readonly AuthorizerResultTtlInSeconds?: number;
  readonly AuthorizerUri?: string;
  readonly IdentitySource?: string;
  readonly Type: string;
}

function readAuthorizer(resource: TemplateResource, context: RunContext): ApiAuthorizer {
  const properties = context.read<AuthorizerProperties>(resource);
  const { Type, AuthorizerUri, IdentitySource = '' } = properties;
  if (Type !== 'REQUEST') reject(resource, `an authorizer of type ${Type} cannot run locally`);
  return {
    logicalId: resource.logicalId,
    functionArn: functionArnIn(AuthorizerUri) ?? reject(resource, 'its AuthorizerUri names no function'),
    credentials: properties.AuthorizerCredentials,
    identityHeaders: IdentitySource.split(',').map(
      (source) =>
        /^ *method\.request\.header\.(\S+) *$/.exec(source)?.[1] ??
        reject(resource, `the identity source ${source} cannot run locally`),
    ),
    cacheSeconds: properties.AuthorizerResultTtlInSeconds ?? DEFAULT_CACHE_SECONDS,
  };
}
