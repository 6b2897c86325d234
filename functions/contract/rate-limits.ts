import * as z from 'zod';

/** What is limited on its own, for each API key. Every route of the table is in one class. */
export const rateClasses = ['reads', 'writes', 'sends', 'uploads', 'batches'] as const;
export type RateClass = (typeof rateClasses)[number];

/** A bucket of `burst` tokens, one for each request, into which `count` come back in so many seconds. */
export interface RateLimit {
  count: number;
  seconds: number;
  burst: number;
}

/** What a workspace is held to; null where it is not. */
export type Limits = Record<RateClass, RateLimit | null> & {
  /** Batches that may be open at once. */
  openBatches: number | null;
};

export const secondsOfUnit = { s: 1, m: 60, h: 3600 } as const;
type Unit = keyof typeof secondsOfUnit;

/** Each request is a write to its bucket's item, and a partition of the table takes 1,000 of them in a second. */
const mostPerSecond = 500;
const mostInBurst = 10_000;

export const rateLimitForm =
  'COUNT/UNIT or COUNT/UNIT:BURST with the unit s, m or h, such as 5/s:10, or none';

/** A limit as operators write it: `5/s:10` is five a second, ten at once; `10/m` is ten a minute, all ten at once. */
export const rateLimit = z.string().transform((text, context): RateLimit | null => {
  if (text === 'none') return null;
  const [, count, unit, burst = count] = /^([1-9]\d{0,6})\/([smh])(?::([1-9]\d{0,6}))?$/.exec(text) ?? [];
  if (count === undefined) {
    context.addIssue(`must be ${rateLimitForm}`);
    return z.NEVER;
  }
  const limit = { count: Number(count), seconds: secondsOfUnit[unit as Unit], burst: Number(burst) };
  if (limit.count / limit.seconds > mostPerSecond)
    context.addIssue(`must be at most ${mostPerSecond} a second, or none`);
  if (limit.burst > mostInBurst) context.addIssue(`must be at most ${mostInBurst} at once, or none`);
  return limit;
});

/** How many, or `none`, as operators write it. */
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

export const formatOpenBatches = (most: number | null): string => (most === null ? 'none' : String(most));

/** As text, for where nothing else travels: `reads=20/s:40,…,open-batches=10`. */
export const formatLimits = (limits: Limits): string =>
  [
    ...rateClasses.map((name) => `${name}=${formatRateLimit(limits[name])}`),
    `open-batches=${formatOpenBatches(limits.openBatches)}`,
  ].join(',');

/** Limits as `formatLimits` writes them. */
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

/** @throws ZodError when the text is not one that `formatLimits` makes */
export const parseLimits = (text: string): Limits => limitsText.parse(text);
