import { environment } from '#runtime/environment/environment.ts';

/**
 * Reserved at the end of the function's time, to store or count a reply that was aborted at its deadline: two calls, each
 * with time for some retries.
 */
const millisecondsToStore = 15_000;

/** Milliseconds that the model may take. */
export function timeForModel(isStreamed: boolean, remainingMilliseconds: number): number {
  const left = remainingMilliseconds - millisecondsToStore;
  return isStreamed ? left : Math.min(left, environment('plainReplySeconds') * 1000);
}
