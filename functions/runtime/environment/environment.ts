import process from 'node:process';
import { StandardRetryStrategy } from '@smithy/core/retry';
import * as z from 'zod';
import { poolNames } from '#contract/limits.ts';
import { limitsText } from '#contract/rate-limits.ts';
import { type HostAndPort, hostAndPort, parseHostAndPort } from '#contract/urls.ts';
import { invocationContext } from './invocation-context.ts';
import { variables } from './variables.ts';

export function lazily<Value>(create: () => Value): () => Value {
  let created: { value: Value } | undefined;
  return () => {
    created ??= { value: create() };
    return created.value;
  };
}

/**
 * For an import that not all invocations need: each method calls `load` first. So each returns a promise, and other
 * properties cannot be read.
 */
export const deferred = <Loaded extends object>(load: () => Promise<Loaded>): Loaded =>
  new Proxy({} as Loaded, {
    get: (_target, name) =>
      // `await` asks any object for the method `then`.
      name === 'then'
        ? undefined
        : async (...given: unknown[]) => {
            const loaded = await load();
            const method = Reflect.get(loaded, name) as (...given: unknown[]) => unknown;
            return method.apply(loaded, given);
          },
  });

/** Variables with the endpoints that give a function its invocations and credentials. */
const lambdaVariables = ['AWS_LAMBDA_RUNTIME_API', 'AWS_CONTAINER_CREDENTIALS_FULL_URI'];

/** Requests to URLs of webhooks, web pages and tools must never reach these endpoints. */
export const internalEndpoints = (): HostAndPort[] =>
  Object.entries(process.env)
    .filter(([name]) => name.startsWith('AWS_ENDPOINT_URL') || lambdaVariables.includes(name))
    .flatMap(([, value = '']) => {
      const url = URL.parse(value.includes('://') ? value : `http://${value}`);
      if (url === null) return [];
      const port = url.port || (url.protocol === 'https:' ? '443' : '80');
      return parseHostAndPort(`${url.hostname}:${port}`) ?? [];
    });

/** In milliseconds. Without timeouts, a hanging socket could block a request until the function times out. */
export const clientTimeouts = { connectionTimeout: 1000, requestTimeout: 3000, throwOnRequestTimeout: true };

/** Must be called before the first client is created. An operator can wait for pages of a scan on a slow network. */
export const waitLonger = (): void => {
  Object.assign(clientTimeouts, { connectionTimeout: 10_000, requestTimeout: 30_000 });
};

type Token = Parameters<StandardRetryStrategy['refreshRetryTokenForRetry']>[0];
type ErrorInfo = Parameters<StandardRetryStrategy['refreshRetryTokenForRetry']>[1];

/** In milliseconds: the function still has to log and to send its trace. */
export const reservedMilliseconds = 10_000;

const maxBackoff = 2000;

let commandRemaining: () => number | undefined = () => undefined;

/** @param remaining returns milliseconds, with the reserved ones; undefined for `maxAttempts` attempts at most */
export const retryWhile = (remaining: () => number | undefined): void => {
  commandRemaining = remaining;
};

/**
 * In functions that serve the API, calls have at most `maxAttempts` attempts, because a client waits. In others, an
 * invocation retries temporary failures until shortly before its timeout, so that finished work, such as a model's
 * reply, can be stored.
 */
export class DeadlineRetries extends StandardRetryStrategy {
  override async refreshRetryTokenForRetry(token: Token, error: ErrorInfo): Promise<Token> {
    const remaining = (invocationContext().getStore()?.remainingMilliseconds ?? commandRemaining)();
    if (remaining === undefined || error.errorType === 'CLIENT_ERROR')
      return super.refreshRetryTokenForRetry(token, error);
    const retries = token.getRetryCount() + 1;
    const wait = Math.random() * Math.min(50 * 2 ** retries, maxBackoff);
    if (remaining - wait < reservedMilliseconds) throw new Error('No time is left for another attempt');
    return { getRetryCount: () => retries, getRetryDelay: () => wait, getRetryCost: () => undefined };
  }
}

const hostsAndPorts = () =>
  z
    .string()
    .default('')
    .transform((list) => list.split(',').filter((entry) => entry !== ''))
    .pipe(z.array(hostAndPort));

/** Created at the first read of their variables: creating all of them would slow down a function's start. */
const schemas = {
  openAiBaseUrl: () => z.url(),
  openAiEndpoints: () =>
    z
      .string()
      .default('{}')
      .transform((text): Record<string, { url: string; secret: string }> => JSON.parse(text)),
  showProviderErrors: () => z.literal('true').optional(),
  streamTimeoutSeconds: () => z.coerce.number().positive(),
  leaseSeconds: () => z.coerce.number().positive(),
  plainReplySeconds: () => z.coerce.number().positive(),
  batchQueueUrl: () => z.url(),
  purgeQueueUrl: () => z.url(),
  batchTimeoutSeconds: () => z.coerce.number().positive(),
  batchItemSeconds: () => z.coerce.number().positive(),
  batchWorkspaceSlots: () => z.coerce.number().int().positive(),
  requestsPerWorker: () => z.coerce.number().int().positive(),
  historyCharacters: () => z.coerce.number().int().nonnegative(),
  attachedFiles: () => z.coerce.number().int().positive(),
  replyBytes: () => z.coerce.number().int().positive(),
  replyModelCalls: () => z.coerce.number().int().positive(),
  replyToolUses: () => z.coerce.number().int().positive(),
  replyToolsAtOnce: () => z.coerce.number().int().positive(),
  outboundAllow: hostsAndPorts,
  toolAllow: hostsAndPorts,
  webhookAllow: hostsAndPorts,
  webhookPlainLoopback: () => z.enum(['true', 'false']).optional(),
  webhookTimeoutSeconds: () => z.coerce.number().positive(),
  webhookRetrySeconds: () =>
    z
      .string()
      .transform((list) => list.split(',').map(Number))
      .pipe(z.array(z.number().positive())),
  webSearchProvider: () => z.enum(['searxng', 'brave']).optional(),
  webSearchUrl: () => z.url(),
  usageDays: () => z.coerce.number().int().positive(),
  /** Undefined in a stage without a distribution. */
  originSecrets: () =>
    z
      .string()
      .min(1)
      .transform((list) => list.split(','))
      .optional(),
  /** Undefined in a stage without the web function that serves chats. */
  callerSecret: () => z.string().min(1).optional(),
  authorizerCacheSeconds: () => z.coerce.number().nonnegative(),
  corsOrigin: () => z.string().min(1).optional(),
  handlesPreflights: () => z.literal('true').optional(),
  stageLimits: () => limitsText,
  poolSizes: () =>
    z
      .string()
      .transform((text) => JSON.parse(text))
      .pipe(z.record(z.enum(poolNames), z.int().positive())),
  httpEndpoint: () => z.string().regex(/^[^:]+:\d+$/),
} as const satisfies Partial<Record<Name, () => z.ZodType>>;

type Name = keyof typeof variables;
type Value<Of extends Name> = Of extends keyof typeof schemas
  ? z.infer<ReturnType<(typeof schemas)[Of]>>
  : string;

const created = new Map<Name, z.ZodType>();

/** @throws Error if the variable is malformed, or missing although it is required */
export function environment<Of extends Name>(name: Of): Value<Of> {
  const { [name]: schemaOf = () => z.string().min(1) }: Partial<Record<Name, () => z.ZodType>> = schemas;
  const schema = created.get(name) ?? schemaOf();
  created.set(name, schema);
  const parsed = schema.safeParse(process.env[variables[name]]);
  if (!parsed.success) throw new Error(`The environment variable ${variables[name]} is missing or malformed`);
  return parsed.data as Value<Of>;
}
