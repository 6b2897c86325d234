import * as z from 'zod';

/** A request takes one token of the class of its route. */
export const requestClasses = ['reads', 'writes', 'sends', 'uploads', 'batches'] as const;
export type RequestClass = (typeof requestClasses)[number];

/** One token for each megabyte, batch request or model call. */
export const usageClasses = [
  'uploadedMegabytes',
  'batchRequests',
  'modelCalls',
  'downloadedMegabytes',
] as const;

export const rateClasses = [...requestClasses, ...usageClasses] as const;
export type RateClass = (typeof rateClasses)[number];

/** They may be fractions. */
export type Tokens = { readonly [Class in RateClass]?: number };

export const bytesPerToken = 1024 * 1024;
/** Taken when a read or an upload arrives, so that an empty bucket of megabytes rejects it. */
const oneByte = 1 / bytesPerToken;

/** Taken together with the token of the class. */
export const furtherTokens: Readonly<Record<RequestClass, Tokens>> = {
  reads: { downloadedMegabytes: oneByte },
  writes: {},
  // For the first model call.
  sends: { modelCalls: 1 },
  uploads: { uploadedMegabytes: oneByte },
  // The batch pays for its requests later. With 0, a bucket that is below zero rejects it at once.
  batches: { batchRequests: 0, modelCalls: 0 },
};

export interface RateLimit {
  count: number;
  seconds: number;
  burst: number;
}

/** null means no limit. */
export type Limits = Record<RateClass, RateLimit | null> & {
  openBatches: number | null;
};

export const secondsOfUnit = { s: 1, m: 60, h: 3600, d: 86_400 } as const;

/**
 * Of one class. A request may write the item with the buckets of its key, and a partition of DynamoDB takes 1,000 write
 * units a second.
 */
const maxPerSecond = 500;
/** A burst up to the count may be higher: all tokens of a day may be used at once. */
const maxBurst = 10_000;

export const rateLimitForm =
  'COUNT/UNIT or COUNT/UNIT:BURST with the unit s, m, h or d, such as 5/s:10, or none';

/** `5/s:10` is 5 a second with a burst of 10; `none` is null, no limit. */
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

export const limitName = (name: RateClass, separator = '-'): string =>
  name.replaceAll(/[A-Z]/g, (letter) => separator + letter.toLowerCase());

export const formatLimits = (limits: Limits): string =>
  [
    ...rateClasses.map((name) => `${name}=${formatRateLimit(limits[name])}`),
    `open-batches=${formatOpenBatches(limits.openBatches)}`,
  ].join(',');

const schemasOf = <Name extends string, Schema>(names: readonly Name[], schema: Schema) =>
  Object.fromEntries(names.map((name) => [name, schema])) as Record<Name, Schema>;

/** A text of an earlier release may lack the classes of usage, which then have no limit. */
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

/** @throws ZodError for an invalid text */
export const parseLimits = (text: string): Limits => limitsText.parse(text);
