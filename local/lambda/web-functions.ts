import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import { finished, pipeline } from 'node:stream';
import { endResponse } from '../gateway/read-body.ts';
import type { RunContext } from '../run-context.ts';
import type { ResourceKind } from '../template/resource-kind.ts';
import { reject, type TemplateResource } from '../template/template-resource.ts';
import { threadEnvironment } from './function-environment.ts';
import { WebFunctionServer } from './web-function-server.ts';

interface RevisionProperties {
  readonly FunctionName: string;
  readonly BuildConfig: {
    readonly CodeConfig: { readonly S3Object: { readonly Key: string } };
    readonly RuntimeConfig: { readonly Runtime: string };
  };
  readonly ServiceConfig: {
    readonly EnvironmentVariables?: Readonly<Record<string, unknown>>;
    readonly ExecutionRoleArn?: string;
    readonly MaxConcurrencyPerEnvironment?: number;
    readonly TimeoutSeconds?: number;
  };
}

interface EndpointProperties {
  readonly AuthType: string;
  readonly FunctionName: string;
  readonly ScalingConfig?: { readonly MaxEnvironments?: number };
  readonly ThrottleConfig?: { readonly RateLimit?: number };
}

const FUNCTION = 'AWS::Lambda::WebFunction';
const REVISION = 'AWS::Lambda::WebFunctionRevision';
const ENDPOINT = 'AWS::Lambda::WebFunctionEndpoint';
/** Copies an asset to the bucket from which AWS reads a web function's code. Here, the asset itself is read. */
const CODE_COPY = 'Custom::S3ObjectCopy';

// Lambda's defaults.
const DEFAULT_TIMEOUT_SECONDS = 30;
const DEFAULT_CONCURRENCY = 64;

// The memory of an environment of a web function. No template can change it.
const MEMORY_MEGABYTES = 2048;

export const webFunctions: ResourceKind = {
  types: [FUNCTION, REVISION, ENDPOINT, CODE_COPY],

  async open(resources, context) {
    const arnOf = (resource: TemplateResource) =>
      context.arnOf('lambda', `web-function/${context.nameOf(resource, 'FunctionName')}`);
    const domainOf = ({ logicalId }: TemplateResource) =>
      `${logicalId.toLowerCase()}.lambda-web.${context.region}.on.aws`;

    return {
      ref: (resource) => (resource.type === FUNCTION ? arnOf(resource) : resource.logicalId),
      attribute(resource, name) {
        if (resource.type === FUNCTION) return { FunctionArn: arnOf(resource), Arn: arnOf(resource) }[name];
        if (resource.type === CODE_COPY) {
          const { SourceObjectKey: Key } = context.read<{ SourceObjectKey: string }>(resource);
          return { Bucket: 'local', Key, VersionId: 'local' }[name];
        }
        return { RevisionId: resource.logicalId, DomainName: domainOf(resource) }[name];
      },
      async start() {
        const revisions = resources.filter(({ type }) => type === REVISION);
        for (const endpoint of resources.filter(({ type }) => type === ENDPOINT)) {
          const resolved = context.read<EndpointProperties>(endpoint);
          const { AuthType, FunctionName } = resolved;
          if (AuthType !== 'ApplicationManaged') reject(endpoint, `AuthType ${AuthType} cannot run locally`);
          const revision = revisions.find(
            (candidate) => context.read<RevisionProperties>(candidate).FunctionName === FunctionName,
          );
          if (!revision) reject(endpoint, `its function has no revision`);
          const server = startServer(revision, resolved, domainOf(endpoint), context);
          context.webFunctions.set(domainOf(endpoint), server);
          context.origins.set(domainOf(endpoint), (request, response) => respond(server, request, response));
        }
      },
      async close() {
        await Promise.all([...context.webFunctions.values()].map((server) => server.close()));
      },
    };
  },
};

async function respond(
  server: WebFunctionServer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const disconnected = new AbortController();
  response.once('close', () => {
    if (!response.writableEnded) disconnected.abort();
  });
  const { status, rawHeaders, body, closesConnection } = await server.send({
    method: request.method ?? '',
    path: request.url ?? '',
    rawHeaders: request.rawHeaders,
    body: request,
    signal: disconnected.signal,
  });
  if (response.destroyed) return void body.destroy();
  const connection = closesConnection && !request.complete ? ['Connection', 'close'] : [];
  response.writeHead(status, [...rawHeaders, ...connection]);
  if (connection.length === 0) return void pipeline(body, response, () => {});
  body.pipe(response, { end: false });
  finished(body, () => endResponse(request, response));
}

function startServer(
  revision: TemplateResource,
  { ScalingConfig, ThrottleConfig }: EndpointProperties,
  domainName: string,
  context: RunContext,
): WebFunctionServer {
  const { logicalId } = revision;
  const { FunctionName, BuildConfig, ServiceConfig } = context.read<RevisionProperties>(revision);
  const { Runtime: runtime } = BuildConfig.RuntimeConfig;
  if (!runtime.startsWith('nodejs')) reject(revision, 'only Node.js can run locally');
  const taskRoot = context.assetFolder(BuildConfig.CodeConfig.S3Object.Key);
  const functionName = FunctionName.split('/').at(-1) ?? logicalId;
  const { ExecutionRoleArn: roleArn, EnvironmentVariables: variables = {} } = ServiceConfig;
  const thread = threadEnvironment(context, {
    logicalId,
    functionName,
    taskRoot,
    runtime,
    roleArn,
    variables,
  });
  const environmentsPerThread = environmentsPerThreadOf(logicalId, context);
  return new WebFunctionServer({
    ...thread,
    domainName,
    entry: path.join(taskRoot, thread.environment.AWS_LAMBDA_NODEJS_ENTRYPOINT ?? 'index.js'),
    timeoutSeconds: ServiceConfig.TimeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS,
    limits: {
      requestsPerSecond: ThrottleConfig?.RateLimit,
      maxEnvironments: Math.ceil(
        (ScalingConfig?.MaxEnvironments ?? Number.POSITIVE_INFINITY) / environmentsPerThread,
      ),
      requestsPerEnvironment:
        (ServiceConfig.MaxConcurrencyPerEnvironment ?? DEFAULT_CONCURRENCY) * environmentsPerThread,
    },
    memoryMegabytes: MEMORY_MEGABYTES * environmentsPerThread,
    onViolation: (text) => void context.violations.push(text),
    onLine: (line) => context.options.onLog?.({ functionName, line }),
  });
}

const environmentsPerThreadOf = (logicalId: string, { options }: RunContext): number =>
  Object.entries(options.environmentsPerThread ?? {}).find(([prefix]) => logicalId.startsWith(prefix))?.[1] ??
  1;
