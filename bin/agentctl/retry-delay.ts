/** The maximum delay that section 8 of the specification recommends, without a number. A person can wait a minute. */
const longestSeconds = 60;

/**
 * The delay before a retry, in seconds: `retryAfter`, or 1 s that doubles with each retry up to the maximum. Adds 10 to
 * 25 % jitter, so that clients that were rejected at the same time do not retry at the same time.
 * @param retry the number of the retry, from 1
 */
export function retryDelay(retry: number, retryAfter?: number, random: () => number = Math.random): number {
  const seconds = Math.max(1, retryAfter ?? Math.min(2 ** (retry - 1), longestSeconds));
  return seconds * (1.1 + 0.15 * random());
}

/** The header Retry-After, seconds or a date, as seconds from now; undefined without one. */
export function retryAfterSeconds(headers: Headers): number | undefined {
  const value = headers.get('retry-after')?.trim();
  if (value === undefined) return undefined;
  if (/^\d+$/.test(value)) return Number(value);
  const until = Date.parse(value);
  return Number.isNaN(until) ? undefined : Math.max(0, (until - Date.now()) / 1000);
}
