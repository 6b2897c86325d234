import type { Timer } from '#local/run-options.ts';

/** Starts no schedule, so that the reconciler never takes a batch up that a test has left without an execution. */
export const stoppedTimer: Timer = { after: () => () => undefined };
