import type { RunContext } from '../run-context.ts';
import { reject, type TemplateResource } from '../template/resource-kind.ts';
import type { ApiAuthorizer, ApiModel, GatewayResponse, PathNode } from './api-model.ts';
import { type ApiResources, apiResources, functionArnIn } from './api-resources.ts';
import type { MethodSetting } from './method-throttles.ts';
import { readMethods } from './read-methods.ts';

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

export interface PathTree {
  readonly root: PathNode;
  /** By resource id. */
  readonly nodes: ReadonlyMap<string, PathNode>;
}

/** Reads the resources of the paths, without their methods. A resource may precede its parent in the template. */
export function readPathTree(
  { ofType, find, read }: ApiResources,
  api: TemplateResource,
  rootResourceId: string,
): PathTree {
  const root: PathNode = {
    resourceId: api.logicalId,
    resourcePath: '/',
    pathPart: '',
    children: [],
    methods: new Map(),
  };
  const nodes = new Map<string, PathNode>([[rootResourceId, root]]);

  function addNode(resource: TemplateResource): PathNode {
    const known = nodes.get(resource.logicalId);
    if (known) return known;
    const { ParentId, PathPart } = read<{ ParentId: string; PathPart: string }>(resource);
    const parentResource = find(ParentId);
    const parent = nodes.get(ParentId) ?? (parentResource && addNode(parentResource));
    if (!parent) return reject(resource, `its parent ${ParentId} is not in the template`);
    const node: PathNode = {
      resourceId: resource.logicalId,
      resourcePath: `${parent === root ? '' : parent.resourcePath}/${PathPart}`,
      pathPart: PathPart,
      children: [],
      methods: new Map(),
    };
    parent.children.push(node);
    nodes.set(resource.logicalId, node);
    return node;
  }

  for (const resource of ofType('Resource')) addNode(resource);
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

/** By logical id. */
export function readAuthorizers({ ofType, read }: ApiResources): ReadonlyMap<string, ApiAuthorizer> {
  return new Map(
    ofType('Authorizer').map((resource) => [
      resource.logicalId,
      readAuthorizer(resource, read<AuthorizerProperties>(resource)),
    ]),
  );
}

function readAuthorizer(
  resource: TemplateResource,
  {
    Type,
    AuthorizerUri,
    AuthorizerCredentials,
    IdentitySource = '',
    AuthorizerResultTtlInSeconds,
  }: AuthorizerProperties,
): ApiAuthorizer {
  if (Type !== 'REQUEST') reject(resource, `an authorizer of type ${Type} cannot run locally`);
  return {
    logicalId: resource.logicalId,
    functionArn: functionArnIn(AuthorizerUri) ?? reject(resource, 'its AuthorizerUri names no function'),
    credentials: AuthorizerCredentials,
    identityHeaders: IdentitySource.split(',').map(
      (source) =>
        /^ *method\.request\.header\.(\S+) *$/.exec(source)?.[1] ??
        reject(resource, `the identity source ${source} cannot run locally`),
    ),
    cacheSeconds: AuthorizerResultTtlInSeconds ?? DEFAULT_CACHE_SECONDS,
  };
}

interface GatewayResponseProperties {
  readonly ResponseParameters?: Record<string, string>;
  readonly ResponseTemplates?: Record<string, string>;
  readonly ResponseType: string;
  readonly StatusCode?: string;
}

/** By response type. */
export function readGatewayResponses({ ofType, read }: ApiResources): ReadonlyMap<string, GatewayResponse> {
  return new Map(
    ofType('GatewayResponse').map((resource) => {
      const properties = read<GatewayResponseProperties>(resource);
      const { ResponseType, StatusCode, ResponseParameters = {}, ResponseTemplates = {} } = properties;
      return [
        ResponseType,
        {
          statusCode: StatusCode === undefined ? undefined : Number(StatusCode),
          headers: readHeaders(resource, ResponseParameters),
          templates: ResponseTemplates,
        },
      ];
    }),
  );
}

function readHeaders(
  resource: TemplateResource,
  parameters: Readonly<Record<string, string>>,
): Record<string, string> {
  const headers = Object.entries(parameters).map(([name, value]) => {
    const header = /^gatewayresponse\.header\.(.+)$/.exec(name)?.[1];
    return [header ?? reject(resource, `${name} cannot run locally`), value];
  });
  return Object.fromEntries(headers) as Record<string, string>;
}
