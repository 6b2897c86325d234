import * as z from 'zod';

/** Each API key has a separate limit for each class. Every route belongs to one class. */
export const rateClasses = ['reads', 'writes', 'sends', 'uploads', 'batches'] as const;
export type RateClass = (typeof rateClasses)[number];

/** A token bucket: `burst` is its capacity, `count` tokens are refilled in `seconds`. A request takes one token. */
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

export const secondsOfUnit = { s: 1, m: 60, h: 3600 } as const;
type Unit = keyof typeof secondsOfUnit;

/** Each request writes its bucket's item, and a DynamoDB partition takes 1,000 write units a second. */
const maxPerSecond = 500;
const maxBurst = 10_000;

export const rateLimitForm =
  'COUNT/UNIT or COUNT/UNIT:BURST with the unit s, m or h, such as 5/s:10, or none';

/**
 * A limit as operators write it: `5/s:10` is 5 a second with a burst of 10; `10/m` is 10 a minute with a burst of 10.
 */
export const rateLimit = z.string().transform((text, context): RateLimit | null => {
  if (text === 'none') return null;
  const [, count, unit, burst = count] = /^([1-9]\d{0,6})\/([smh])(?::([1-9]\d{0,6}))?$/.exec(text) ?? [];
  if (count === undefined) {
    context.addIssue(`must be ${rateLimitForm}`);
    return z.NEVER;
  }
  const limit = { count: Number(count), seconds: secondsOfUnit[unit as Unit], burst: Number(burst) };
  if (limit.count / limit.seconds > maxPerSecond)
    context.addIssue(`must be at most ${maxPerSecond} a second, or none`);
  if (limit.burst > maxBurst) context.addIssue(`must be at most ${maxBurst} at once, or none`);
  return limit;
});

/** The limit of open batches as operators write it: a number or `none`. */
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

/**
 * The limits as one string, for the authorizer's context and for environment variables:
 * `reads=20/s:40,…,open-batches=10`.
 */
export const formatLimits = (limits: Limits): string =>
  [
    ...rateClasses.map((name) => `${name}=${formatRateLimit(limits[name])}`),
    `open-batches=${formatOpenBatches(limits.openBatches)}`,
  ].join(',');

/** The schema of limits in the form of `formatLimits`. */
export const limitsText = z
  .string()
  .transform((text): Record<string, unknown> => Object.fromEntries(text.split(',').map((e) => e.split('='))))
  .pipe(
    z.object({
      ...(Object.fromEntries(rateClasses.map((name) => [name, rateLimit])) as Record<
        RateClass,
        typeof rateLimit
      >),
      'open-batches': openBatchesLimit,
    }),
  )
  .transform(({ 'open-batches': openBatches, ...rates }): Limits => ({ ...rates, openBatches }));

/** @throws ZodError if the text does not have the form of `formatLimits` */
export const parseLimits = (text: string): Limits => limitsText.parse(text);
