import path from 'node:path';
import type { RunContext } from '../run-context.ts';
import type { ResourceKind } from '../template/resource-kind.ts';
import { reject, type TemplateResource } from '../template/template-resource.ts';
import { createAccountConcurrency } from './account-concurrency.ts';
import { findFunction } from './find-function.ts';
import type { FunctionDefinition } from './function-definition.ts';
import { compileCacheOf, threadEnvironment } from './function-environment.ts';
import { createFunctionPool, type FunctionPool } from './function-pool.ts';
import { serveInvocations } from './serve-invocations.ts';

interface FunctionProperties {
  readonly Code?: { readonly S3Key?: string };
  readonly Environment?: { readonly Variables?: Record<string, unknown> };
  readonly FunctionName?: string;
  readonly Handler?: string;
  readonly MemorySize?: number;
  readonly ReservedConcurrentExecutions?: number;
  readonly Runtime?: string;
  readonly Layers?: readonly string[];
  readonly Role?: string;
  readonly Timeout?: number;
}

const FUNCTION = 'AWS::Lambda::Function';
const VERSION = 'AWS::Lambda::Version';
const ALIAS = 'AWS::Lambda::Alias';

/** A run has no deployments, so each function has one version. */
const THE_VERSION = '1';

// Enough for 100 open streams of one function. Not more, because a thread that waits for a model uses about 18 MB.
const DEFAULT_MAX_CONCURRENCY = 128;

// Lambda's defaults.
const DEFAULT_TIMEOUT_SECONDS = 3;
const DEFAULT_MEMORY_MEGABYTES = 128;

/** A run does not know the timeout and the memory of a function of another stack. */
const OTHER_FUNCTIONS = { timeoutSeconds: 900, memoryMegabytes: 512 };

export const functions: ResourceKind = {
  types: [FUNCTION, VERSION, ALIAS],

  async open(resources, context) {
    const nameOf = (resource: TemplateResource): string => {
      const given = context.nameOf(resource, 'FunctionName');
      return resource.type === FUNCTION ? given : (given.split(':')[6] ?? given);
    };
    const arnOf = (resource: TemplateResource) => context.arnOf('lambda', `function:${nameOf(resource)}`);
    const qualifierOf = ({ type, properties, logicalId }: TemplateResource): string =>
      type === ALIAS ? String(context.resolve(properties.Name, logicalId)) : THE_VERSION;
    const qualifiedArnOf = (resource: TemplateResource) => `${arnOf(resource)}:${qualifierOf(resource)}`;
    const functionResources = resources.filter(({ type }) => type === FUNCTION);
    const invocations = await serveInvocations(
      (reference) => findFunction(context, reference),
      context.access,
    );
    context.endpoints.lambda = invocations.endpoint;

    return {
      ref: (resource) => (resource.type === FUNCTION ? nameOf(resource) : qualifiedArnOf(resource)),
      attribute(resource, name) {
        if (resource.type === FUNCTION) return name === 'Arn' ? arnOf(resource) : undefined;
        if (resource.type === ALIAS) return name === 'AliasArn' ? qualifiedArnOf(resource) : undefined;
        return { FunctionArn: qualifiedArnOf(resource), Version: THE_VERSION }[name];
      },
      environmentFor: () => ({ AWS_ENDPOINT_URL_LAMBDA: invocations.endpoint }),
      async start() {
        const concurrency = createAccountConcurrency(context.options.accountConcurrency);
        for (const resource of functionResources) {
          const { ReservedConcurrentExecutions: executions } = context.read<FunctionProperties>(resource);
          if (executions === undefined) continue;
          const problem = concurrency.reserve(nameOf(resource), executions);
          if (problem !== undefined) reject(resource, problem);
        }
        for (const resource of functionResources) {
          const functionName = nameOf(resource);
          const qualifiers = resources
            .filter((other) => other.type !== FUNCTION && nameOf(other) === functionName)
            .map(qualifierOf);
          const identity = { functionName, functionArn: arnOf(resource), qualifiers };
          const definition = defineFunction(resource, identity, context);
          const pool = startPool(definition, context);
          context.functions.set(definition.functionArn, concurrency.limit(pool));
        }
        for (const [arn, file] of Object.entries(context.options.otherFunctions ?? {}))
          context.functions.set(arn, startPool(defineOther(arn, file, context), context));
        if (context.options.prewarm) void prewarm(context, context.options.prewarm);
      },
      async close() {
        await Promise.all([...context.functions.values()].map((pool) => pool.close()));
        await invocations.close();
      },
    };
  },
};

function startPool(definition: FunctionDefinition, { options, violations, calls }: RunContext): FunctionPool {
  const { functionName } = definition;
  return createFunctionPool(definition, {
    maxConcurrency: options.maxConcurrency ?? DEFAULT_MAX_CONCURRENCY,
    onLine: (line) => options.onLog?.({ functionName, line }),
    onViolation: (text) => violations.push(text),
    onInvoked(milliseconds) {
      if (!options.recordCalls) return;
      calls.push({
        service: 'lambda',
        operation: 'invocation',
        name: functionName,
        status: 200,
        bytes: { sent: 0, received: 0 },
        milliseconds,
      });
    },
  });
}

function defineOther(arn: string, file: string, { options, region }: RunContext): FunctionDefinition {
  const [functionName = '', qualifier = ''] = arn.split(':').slice(6);
  const { dir: taskRoot, name } = path.parse(path.resolve(file));
  return {
    ...{ logicalId: arn, functionName, functionArn: arn.slice(0, arn.lastIndexOf(':')) },
    ...{ qualifiers: [qualifier], accessKeyId: '', taskRoot, handler: `${name}.handler` },
    ...OTHER_FUNCTIONS,
    environment: { AWS_LAMBDA_FUNCTION_NAME: functionName, AWS_REGION: region, TZ: ':UTC' },
    compileCacheFolder: compileCacheOf(options),
    hasLogListener: options.onLog !== undefined,
    emulatorRoute: undefined,
  };
}

function defineFunction(
  resource: TemplateResource,
  identity: Pick<FunctionDefinition, 'functionName' | 'functionArn' | 'qualifiers'>,
  context: RunContext,
): FunctionDefinition {
  const properties = context.read<FunctionProperties>(resource);
  const { Code, Handler: handler, Runtime: runtime, Role: roleArn } = properties;
  if (!Code?.S3Key || !handler || !runtime?.startsWith('nodejs'))
    return reject(resource, 'only Node.js functions from file assets can run locally');
  if (properties.Layers?.length) reject(resource, 'layers cannot run locally');
  const taskRoot = context.assetFolder(Code.S3Key);
  const { MemorySize: memoryMegabytes = DEFAULT_MEMORY_MEGABYTES } = properties;
  const variables = {
    ...properties.Environment?.Variables,
    _HANDLER: handler,
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: memoryMegabytes,
    AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
  };
  const { logicalId } = resource;
  const { functionName } = identity;
  const thread = threadEnvironment(context, {
    logicalId,
    functionName,
    taskRoot,
    runtime,
    roleArn,
    variables,
  });
  return {
    ...thread,
    ...identity,
    accessKeyId: thread.environment.AWS_ACCESS_KEY_ID ?? '',
    taskRoot,
    handler,
    timeoutSeconds: properties.Timeout ?? DEFAULT_TIMEOUT_SECONDS,
    memoryMegabytes,
  };
}

/** Not all functions, because each loaded thread occupies memory. */
export async function prewarm(context: RunContext, prefixes: readonly string[]): Promise<void> {
  await context.serving.promise;
  for (const arn of context.authorizers) await context.functions.get(arn)?.prewarm();
  for (const domain of context.integratedDomains) await context.webFunctions.get(domain)?.prewarm();
  for (const prefix of prefixes)
    for (const pool of context.functions.values())
      if (pool.logicalId.startsWith(prefix)) await pool.prewarm();
}
