import type { Attempt } from './attempt-request.ts';
import { requestsPerGroup } from './batch.ts';

/** Milliseconds until the next attempt, doubled with each one: after a failure of the model, and if the chat is in use. */
const firstWaits = { ofModel: 10_000, blocked: 2500 };
const longestWait = 300_000;
/** Of a message, and so of a request. */
const longestDelay = 900_000;
/** A new request waits in its place for 5 s, and then for 10 s: meanwhile the batch calls a busy model less. */
export const waitsAtOnce = [5000, 10_000];

/** Milliseconds until the next attempt, plus or minus a quarter, so that requests that failed together are apart. */
export function waitOf({ outcome, item, retryAfter = 0 }: Attempt, shortWait: number | undefined): number {
  const first = outcome === 'blocked' ? firstWaits.blocked : firstWaits.ofModel;
  const wait = shortWait ?? Math.min(first * 2 ** item.attempt, longestWait);
  const spread = 0.75 + (Math.floor(item.requestIndex / requestsPerGroup) % 10) / 20;
  return Math.min(Math.max(retryAfter, wait * spread), longestDelay);
}
