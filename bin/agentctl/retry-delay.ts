/** The specification, section 8, wants a cap; a minute is long for a service and short for a person. */
const longestSeconds = 60;

/**
 * How long to wait before a request is made again, seconds: from 1 s on doubling, or what the service has named, and 10
 * to 25 percent more, so that clients refused together do not come back together.
 * @param retry which one, from 1
 */
export function retryDelay(retry: number, retryAfter?: number, random: () => number = Math.random): number {
  const seconds = Math.max(1, retryAfter ?? Math.min(2 ** (retry - 1), longestSeconds));
  return seconds * (1.1 + 0.15 * random());
}

/** The header Retry-After, seconds or a date, as seconds from now; undefined without one. */
export function secondsOf(headers: Headers): number | undefined {
  const value = headers.get('retry-after')?.trim();
  if (value === undefined) return undefined;
  if (/^\d+$/.test(value)) return Number(value);
  const until = Date.parse(value);
  return Number.isNaN(until) ? undefined : Math.max(0, (until - Date.now()) / 1000);
}
