import type { RunContext } from '../run-context.ts';
import type { TemplateResource } from '../template/resource-kind.ts';
import type { ApiAuthorizer, ApiMethod, ApiModel, GatewayResponse, PathNode } from './api-model.ts';
import { type MethodSetting, readThrottle } from './method-throttles.ts';
import { type MockProperties, readMock } from './respond-mock.ts';

// API Gateway's default, 29 s, for buffered and streamed integrations.
const DEFAULT_TIMEOUT_MILLISECONDS = 29_000;
const DEFAULT_AUTHORIZER_CACHE_SECONDS = 300;

// API Gateway ends an idle stream after 5 minutes, at an edge-optimized endpoint after 30 s.
const REGIONAL_IDLE_MILLISECONDS = 5 * 60_000;
const EDGE_IDLE_MILLISECONDS = 30_000;

interface MethodProperties {
  readonly ApiKeyRequired?: boolean;
  readonly AuthorizationType?: string;
  readonly AuthorizerId?: string;
  readonly HttpMethod: string;
  readonly RequestParameters?: Record<string, boolean>;
  readonly RequestValidatorId?: string;
  readonly ResourceId: string;
  readonly MethodResponses?: MockProperties['MethodResponses'];
  readonly Integration?: MockProperties['Integration'] & {
    readonly ResponseTransferMode?: string;
    readonly TimeoutInMillis?: number;
    readonly Type?: string;
    readonly Uri?: string;
  };
}

interface GatewayResponseProperties {
  readonly ResponseParameters?: Record<string, string>;
  readonly ResponseTemplates?: Record<string, string>;
  readonly ResponseType: string;
  readonly StatusCode?: string;
}

/**
 * Reads routes, authorizers and gateway responses.
 * @throws Error for a property that would behave differently here
 */
export function readRestApi(resources: readonly TemplateResource[], context: RunContext): ApiModel {
  const ofType = (type: string) =>
    resources.filter((resource) => resource.type === `AWS::ApiGateway::${type}`);
  const read = <T>({ properties, logicalId }: TemplateResource) =>
    context.resolve(properties, logicalId) as T;
  const reject = ({ logicalId, type }: TemplateResource, reason: string): never => {
    throw new Error(`${logicalId} (${type}): ${reason}`);
  };

  const [api, secondApi] = ofType('RestApi');
  const [stage, secondStage] = ofType('Stage');
  if (!api || !stage) throw new Error('The template has parts of a REST API, but no API with a stage');
  if (secondApi) reject(secondApi, 'only one REST API can run locally');
  if (secondStage) reject(secondStage, 'only one stage can run locally');
  const apiProperties = read<{
    readonly Body?: unknown;
    readonly BinaryMediaTypes?: string[];
    readonly EndpointConfiguration?: { readonly Types?: string[] };
  }>(api);
  if (apiProperties.Body) reject(api, 'an API from an OpenAPI body cannot run locally');
  const stageProperties = read<{
    readonly MethodSettings?: readonly MethodSetting[];
    readonly StageName: string;
    readonly Variables?: Record<string, string>;
  }>(stage);

  const authorizers = new Map<string, ApiAuthorizer>();
  for (const resource of ofType('Authorizer')) {
    const properties = read<{
      readonly AuthorizerResultTtlInSeconds?: number;
      readonly AuthorizerUri?: string;
      readonly IdentitySource?: string;
      readonly Type: string;
    }>(resource);
    if (properties.Type !== 'REQUEST')
      reject(resource, `an authorizer of type ${properties.Type} cannot run locally`);
    authorizers.set(resource.logicalId, {
      logicalId: resource.logicalId,
      functionArn:
        functionArnIn(properties.AuthorizerUri) ?? reject(resource, 'its AuthorizerUri names no function'),
      identitySources: (properties.IdentitySource ?? '')
        .split(',')
        .map((source) => source.trim())
        .filter(Boolean),
      cacheSeconds: properties.AuthorizerResultTtlInSeconds ?? DEFAULT_AUTHORIZER_CACHE_SECONDS,
    });
  }

  const root: PathNode = {
    resourceId: api.logicalId,
    resourcePath: '/',
    pathPart: '',
    children: [],
    methods: new Map(),
  };
  const nodes = new Map<string, PathNode>([
    [context.resolve({ 'Fn::GetAtt': [api.logicalId, 'RootResourceId'] }, api.logicalId) as string, root],
  ]);
  const addNode = (resource: TemplateResource): PathNode => {
    const known = nodes.get(resource.logicalId);
    if (known) return known;
    const { ParentId, PathPart } = read<{ ParentId: string; PathPart: string }>(resource);
    const parentResource = resources.find(({ logicalId }) => logicalId === ParentId);
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
  };
  for (const resource of ofType('Resource')) addNode(resource);

  const readIntegration = (
    resource: TemplateResource,
    { Integration: integration, MethodResponses }: MethodProperties,
  ): ApiMethod['integration'] => {
    if (integration?.Type === 'MOCK')
      return readMock({ Integration: integration, MethodResponses }, (reason) => reject(resource, reason));
    const functionArn = functionArnIn(integration?.Uri);
    if (integration?.Type !== 'AWS_PROXY' || !functionArn) {
      return reject(resource, `an integration of type ${integration?.Type} cannot run locally`);
    }
    const streamed = integration.ResponseTransferMode === 'STREAM';
    if (streamed !== integration.Uri?.endsWith('/response-streaming-invocations')) {
      reject(resource, 'ResponseTransferMode and the integration URI do not go together');
    }
    return {
      functionArn,
      streamed,
      timeoutMilliseconds: integration.TimeoutInMillis ?? DEFAULT_TIMEOUT_MILLISECONDS,
    };
  };
  const readMethod = (
    resource: TemplateResource,
    properties: MethodProperties,
    { resourcePath }: PathNode,
  ): ApiMethod => {
    const { AuthorizationType = 'NONE' } = properties;
    if (properties.ApiKeyRequired) reject(resource, 'API keys cannot run locally');
    if (properties.RequestValidatorId) reject(resource, 'request validators cannot run locally');
    const authorizer = authorizers.get(properties.AuthorizerId ?? '');
    if (AuthorizationType !== 'NONE' && (AuthorizationType !== 'CUSTOM' || !authorizer)) {
      reject(resource, `the authorization ${AuthorizationType} cannot run locally`);
    }
    return {
      logicalId: resource.logicalId,
      integration: readIntegration(resource, properties),
      authorizer: AuthorizationType === 'CUSTOM' ? authorizer : undefined,
      throttle: readThrottle(stageProperties.MethodSettings ?? [], resourcePath, properties.HttpMethod),
    };
  };
  for (const resource of ofType('Method')) {
    const properties = read<MethodProperties>(resource);
    const node = nodes.get(properties.ResourceId);
    if (!node)
      throw new Error(`${resource.logicalId} (${resource.type}): its resource is not in the template`);
    node.methods.set(properties.HttpMethod, readMethod(resource, properties, node));
  }

  const responses = ofType('GatewayResponse').map((resource): [string, GatewayResponse] => {
    const properties = read<GatewayResponseProperties>(resource);
    const headers = Object.entries(properties.ResponseParameters ?? {}).map(([name, value]) => {
      const header = /^gatewayresponse\.header\.(.+)$/.exec(name)?.[1];
      return [header ?? reject(resource, `${name} cannot run locally`), value];
    });
    return [
      properties.ResponseType,
      {
        statusCode: properties.StatusCode === undefined ? undefined : Number(properties.StatusCode),
        headers: Object.fromEntries(headers),
        templates: properties.ResponseTemplates ?? {},
      },
    ];
  });

  const isEdge = apiProperties.EndpointConfiguration?.Types?.includes('EDGE') ?? true;
  return {
    apiId: context.resolve({ Ref: api.logicalId }, api.logicalId) as string,
    stage: stageProperties.StageName,
    stageVariables: stageProperties.Variables ?? null,
    region: context.region,
    accountId: context.accountId,
    root,
    binaryMediaTypes: apiProperties.BinaryMediaTypes ?? [],
    gatewayResponses: new Map(responses),
    streamIdleMilliseconds: isEdge ? EDGE_IDLE_MILLISECONDS : REGIONAL_IDLE_MILLISECONDS,
  };
}

function functionArnIn(uri: string | undefined): string | undefined {
  return /\/functions\/(arn:[^/]+)\//.exec(uri ?? '')?.[1];
}
