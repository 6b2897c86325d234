import * as z from 'zod';

/** Classes of requests. Every route belongs to one. A request takes one token of its class. */
export const requestClasses = ['reads', 'writes', 'sends', 'uploads', 'batches'] as const;
export type RequestClass = (typeof requestClasses)[number];

/** Classes of usage. A request takes one token for each megabyte, batch request or model call that it uses. */
export const usageClasses = [
  'uploadedMegabytes',
  'batchRequests',
  'modelCalls',
  'downloadedMegabytes',
] as const;

/** An API key has a separate bucket for each class. */
export const rateClasses = [...requestClasses, ...usageClasses] as const;
export type RateClass = (typeof rateClasses)[number];

/** Numbers of tokens by class. They may be fractions. */
export type Tokens = { readonly [Class in RateClass]?: number };

/** Bytes of one token of a class of megabytes. */
export const bytesPerToken = 1024 * 1024;
/**
 * One byte, in tokens. When a request arrives, the number of its bytes is unknown. So the request takes one byte then:
 * the bucket must not be empty.
 */
const oneByte = 1 / bytesPerToken;

/** The tokens that a request takes when it arrives, besides the token of its class. */
export const furtherTokens: Readonly<Record<RequestClass, Tokens>> = {
  reads: { downloadedMegabytes: oneByte },
  writes: {},
  // For the first model call of the reply.
  sends: { modelCalls: 1 },
  uploads: { uploadedMegabytes: oneByte },
  // These tokens are taken later, when the requests of the batch are counted.
  batches: { batchRequests: 0, modelCalls: 0 },
};

/** A token bucket: `burst` is its capacity, `count` tokens are refilled in `seconds`. */
export interface RateLimit {
  count: number;
  seconds: number;
  burst: number;
}

/** The limits of a workspace; null means no limit. */
export type Limits = Record<RateClass, RateLimit | null> & {
  /** Batches that may be open at once. */
  openBatches: number | null;
};

export const secondsOfUnit = { s: 1, m: 60, h: 3600, d: 86_400 } as const;

/**
 * Highest number of tokens that are refilled in a second. Each request may write the item with the buckets of its key,
 * and a DynamoDB partition takes 1,000 write units a second.
 */
const maxPerSecond = 500;
/** Highest burst. It may be higher if it is not above the count: all tokens of a day may be used at once. */
const maxBurst = 10_000;

export const rateLimitForm =
  'COUNT/UNIT or COUNT/UNIT:BURST with the unit s, m, h or d, such as 5/s:10, or none';

/**
 * A limit as operators write it: `5/s:10` is 5 a second with a burst of 10; `10/m` is 10 a minute with a burst of 10;
 * `none` is null, no limit.
 */
export const rateLimit = z.string().transform((text, context): RateLimit | null => {
  if (text === 'none') return null;
  const [, count, unit, burst = count] = /^([1-9]\d{0,6})\/([smhd])(?::([1-9]\d{0,6}))?$/.exec(text) ?? [];
  if (count === undefined) {
    context.addIssue(`must be ${rateLimitForm}`);
    return z.NEVER;
  }
  const limit = {
    count: Number(count),
    seconds: secondsOfUnit[unit as keyof typeof secondsOfUnit],
    burst: Number(burst),
  };
  if (limit.count / limit.seconds > maxPerSecond)
    context.addIssue(`must be at most ${maxPerSecond} a second, or none`);
  if (limit.burst > Math.max(maxBurst, limit.count))
    context.addIssue(`must be at most ${maxBurst} or COUNT at once, or none`);
  return limit;
});

/** The limit of open batches as operators write it: a number, or `none` for null, no limit. */
export const openBatchesLimit = z.string().transform((text, context): number | null => {
  if (text === 'none') return null;
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  context.addIssue('must be a number from 1 to 9999, or none');
  return z.NEVER;
});

export function formatRateLimit(limit: RateLimit | null): string {
  if (limit === null) return 'none';
  const { count, seconds, burst } = limit;
  const [unit] = Object.entries(secondsOfUnit).find(([, length]) => length === seconds) ?? [];
  return `${count}/${unit}${burst === count ? '' : `:${burst}`}`;
}

export const formatOpenBatches = (limit: number | null): string => (limit === null ? 'none' : String(limit));

/** The name of a class with a separator between its words. Operators write it with hyphens: `model-calls`. */
export const limitName = (name: RateClass, separator = '-'): string =>
  name.replaceAll(/[A-Z]/g, (letter) => separator + letter.toLowerCase());

/** The limits as one string, such as `reads=20/s:40,…,open-batches=10`. */
export const formatLimits = (limits: Limits): string =>
  [
    ...rateClasses.map((name) => `${name}=${formatRateLimit(limits[name])}`),
    `open-batches=${formatOpenBatches(limits.openBatches)}`,
  ].join(',');

const schemasOf = <Name extends string, Schema>(names: readonly Name[], schema: Schema) =>
  Object.fromEntries(names.map((name) => [name, schema])) as Record<Name, Schema>;

/**
 * The schema of limits in the form of `formatLimits`. A text of an earlier release may lack the classes of usage, which
 * then have no limit.
 */
export const limitsText = z
  .string()
  .transform((text): Record<string, unknown> => Object.fromEntries(text.split(',').map((e) => e.split('='))))
  .pipe(
    z.object({
      ...schemasOf(requestClasses, rateLimit),
      ...schemasOf(usageClasses, rateLimit.prefault('none')),
      'open-batches': openBatchesLimit,
    }),
  )
  .transform(({ 'open-batches': openBatches, ...rates }): Limits => ({ ...rates, openBatches }));

/** @throws ZodError if the text does not have the form of `formatLimits` */
export const parseLimits = (text: string): Limits => limitsText.parse(text);
