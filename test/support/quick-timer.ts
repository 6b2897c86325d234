import type { Timer } from '#local/schedules/timer.ts';

/** Runs what is scheduled for later every second, such as the reconciler, which would come every minute. */
export const quickTimer: Timer = {
  after(milliseconds, callback) {
    const timeout = setTimeout(callback, Math.min(milliseconds, 1000));
    return () => clearTimeout(timeout);
  },
};
