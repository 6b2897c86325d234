import { type RetrySettings, timingOf } from '#agents/retrying-model.ts';
import type { Clock } from '#domain/platform/services.ts';

/** Retries that nothing limits but their number. */
export const freely: Pick<RetrySettings, 'allow' | 'mayRetry' | 'onRejected'> = {
  allow: async () => undefined,
  mayRetry: () => true,
  onRejected: () => undefined,
};

export const freeRetries = (clock: Clock): RetrySettings => ({
  ...freely,
  ...timingOf(clock),
  random: Math.random,
});
