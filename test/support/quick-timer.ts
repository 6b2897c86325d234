import type { Timer } from '#local/run-options.ts';

/** The longest period whose schedules run each second, such as the reconciler's minute. */
const shortMilliseconds = 5 * 60_000;

/**
 * Shortens every delay: to 1 s up to five minutes, and to 4 s beyond. The runner ends the threads of functions with
 * longer periods after each call, so each of their calls is a cold start.
 */
export const quickTimer = timerOfAtMost((milliseconds) => (milliseconds <= shortMilliseconds ? 1000 : 4000));

/** @param most the longest delay, given the usual one */
export function timerOfAtMost(most: (milliseconds: number) => number): Timer {
  return {
    after(milliseconds, callback) {
      const timeout = setTimeout(callback, Math.min(milliseconds, most(milliseconds)));
      return () => clearTimeout(timeout);
    },
  };
}
