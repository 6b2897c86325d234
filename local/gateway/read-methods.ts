import type { RunContext } from '../run-context.ts';
import { reject, type TemplateResource } from '../template/template-resource.ts';
import type {
  ApiAuthorizer,
  ApiMethod,
  FunctionIntegration,
  HttpIntegration,
  PathNode,
} from './api-model.ts';
import { type MethodSetting, readThrottle } from './method-throttles.ts';
import { type MockProperties, readMock } from './respond-mock.ts';

// API Gateway's default.
const DEFAULT_TIMEOUT_MILLISECONDS = 29_000;

interface MethodProperties {
  readonly ApiKeyRequired?: boolean;
  readonly AuthorizationType?: string;
  readonly AuthorizerId?: string;
  readonly HttpMethod: string;
  readonly RequestValidatorId?: string;
  readonly ResourceId: string;
  readonly MethodResponses?: MockProperties['MethodResponses'];
  readonly Integration?: IntegrationProperties;
}

type IntegrationProperties = MockProperties['Integration'] & {
  readonly Credentials?: string;
  readonly IntegrationHttpMethod?: string;
  readonly RequestParameters?: Readonly<Record<string, string>>;
  readonly ResponseTransferMode?: string;
  readonly TimeoutInMillis?: number;
  readonly Type?: string;
  readonly Uri?: string;
};

export function readMethods(
  resources: readonly TemplateResource[],
  { read }: Pick<RunContext, 'read'>,
  nodes: ReadonlyMap<string, PathNode>,
  authorizers: ReadonlyMap<string, ApiAuthorizer>,
  settings: readonly MethodSetting[],
): void {
  for (const resource of resources) {
    const properties = read<MethodProperties>(resource);
    const node = nodes.get(properties.ResourceId) ?? reject(resource, 'its resource is not in the template');
    if (properties.ApiKeyRequired) reject(resource, 'API keys cannot run locally');
    if (properties.RequestValidatorId) reject(resource, 'request validators cannot run locally');
    node.methods.set(properties.HttpMethod, {
      logicalId: resource.logicalId,
      authorizer: readAuthorization(resource, properties, authorizers),
      integration: readIntegration(resource, properties),
      throttle: readThrottle(settings, node.resourcePath, properties.HttpMethod),
    });
  }
}

function readAuthorization(
  resource: TemplateResource,
  { AuthorizationType = 'NONE', AuthorizerId = '' }: MethodProperties,
  authorizers: ReadonlyMap<string, ApiAuthorizer>,
): ApiAuthorizer | undefined {
  if (AuthorizationType === 'NONE') return undefined;
  const authorizer = AuthorizationType === 'CUSTOM' ? authorizers.get(AuthorizerId) : undefined;
  return authorizer ?? reject(resource, `the authorization ${AuthorizationType} cannot run locally`);
}

function readIntegration(
  resource: TemplateResource,
  { Integration: integration, MethodResponses }: MethodProperties,
): ApiMethod['integration'] {
  if (integration?.Type === 'MOCK')
    return readMock({ Integration: integration, MethodResponses }, (reason) => reject(resource, reason));
  if (integration?.Type === 'AWS_PROXY') return readProxyIntegration(resource, integration);
  if (integration?.Type === 'HTTP_PROXY') return readHttpIntegration(resource, integration);
  return reject(resource, `an integration of type ${integration?.Type} cannot run locally`);
}

export function functionArnIn(uri: string | undefined): string | undefined {
  return /\/functions\/(arn:[^/]+)\//.exec(uri ?? '')?.[1];
}

const transferOf = ({ ResponseTransferMode, TimeoutInMillis }: IntegrationProperties) => ({
  streamed: ResponseTransferMode === 'STREAM',
  timeoutMilliseconds: TimeoutInMillis ?? DEFAULT_TIMEOUT_MILLISECONDS,
});

function readProxyIntegration(
  resource: TemplateResource,
  integration: IntegrationProperties,
): FunctionIntegration {
  const { Type, Uri, Credentials: credentials } = integration;
  const functionArn = functionArnIn(Uri);
  if (!functionArn) return reject(resource, `an integration of type ${Type} cannot run locally`);
  const transfer = transferOf(integration);
  if (transfer.streamed !== Uri?.endsWith('/response-streaming-invocations'))
    reject(resource, 'ResponseTransferMode and the integration URI do not go together');
  return { functionArn, credentials, ...transfer };
}

const PARAMETER = /^integration\.request\.((?:header|path)\..+)$/;

function readHttpIntegration(
  resource: TemplateResource,
  integration: IntegrationProperties,
): HttpIntegration {
  const { Uri, IntegrationHttpMethod, RequestParameters = {} } = integration;
  const [, domainName, path] = /^https:\/\/([^/]+)(\/.*)$/.exec(Uri ?? '') ?? [];
  if (domainName === undefined || path === undefined || IntegrationHttpMethod === undefined)
    return reject(resource, `an integration with ${Uri} cannot run locally`);
  const parameters = Object.entries(RequestParameters).map(([target, source]) => [
    PARAMETER.exec(target)?.[1] ?? reject(resource, `the parameter ${target} cannot run locally`),
    source,
  ]);
  return {
    httpMethod: IntegrationHttpMethod,
    domainName,
    path,
    parameters: Object.fromEntries(parameters) as Record<string, string>,
    ...transferOf(integration),
  };
}
