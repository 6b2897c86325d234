import process from 'node:process';
import * as z from 'zod';
import { hostAndPort } from '#contract/host-and-port.ts';
import { poolNames } from '#contract/pools.ts';
import { limitsText } from '#contract/rate-limits.ts';
import { variables } from './variables.ts';

const hostsAndPorts = () =>
  z
    .string()
    .default('')
    .transform((list) => list.split(',').filter((entry) => entry !== ''))
    .pipe(z.array(hostAndPort));

/**
 * Of the variables that are not just a text. Each schema is created at the first read of its variable. Creating all of them would add 8 ms to a function's start.
 */
const schemas = {
  openAiBaseUrl: () => z.url(),
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
  webhookAllow: hostsAndPorts,
  webhookPlainLoopback: () => z.enum(['true', 'false']).optional(),
  webhookTimeoutSeconds: () => z.coerce.number().positive(),
  webhookRetrySeconds: () =>
    z
      .string()
      .transform((list) => list.split(',').map(Number))
      .pipe(z.array(z.number().positive())),
  /** Undefined if agents cannot search the web. */
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
  /** Undefined in a stage whose gateway calls no web function. */
  callerSecret: () => z.string().min(1).optional(),
  authorizerCacheSeconds: () => z.coerce.number().nonnegative(),
  corsOrigin: () => z.string().min(1).optional(),
  handlesPreflights: () => z.literal('true').optional(),
  logLevel: () => z.string().optional(),
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

/**
 * Reads an environment variable that the stack sets for this function.
 * @throws Error that names the variable if it is missing or malformed
 */
export function environment<Of extends Name>(name: Of): Value<Of> {
  const { [name]: schemaOf = () => z.string().min(1) }: Partial<Record<Name, () => z.ZodType>> = schemas;
  const schema = created.get(name) ?? schemaOf();
  created.set(name, schema);
  const parsed = schema.safeParse(process.env[variables[name]]);
  if (!parsed.success) throw new Error(`The environment variable ${variables[name]} is missing or malformed`);
  return parsed.data as Value<Of>;
}
