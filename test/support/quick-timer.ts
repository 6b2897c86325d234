import type { Timer } from '#local/run-options.ts';

/** Shortens every delay to 1 s, so that schedules such as the reconciler's, every minute, run each second. */
export const quickTimer: Timer = {
  after(milliseconds, callback) {
    const timeout = setTimeout(callback, Math.min(milliseconds, 1000));
    return () => clearTimeout(timeout);
  },
};
