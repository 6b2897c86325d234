import type { RateClass, RateLimit } from '#contract/rate-limits.ts';

export interface RateBucket {
  workspaceId: string;
  apiKeyId: string;
  rateClass: RateClass;
  limit: RateLimit;
}

/** A bucket as it was left or found: it will be full again at `fullAt`, milliseconds since 1970. */
export interface BucketChange {
  taken: boolean;
  fullAt: number;
}

/**
 * Buckets of tokens, each known by the one moment when it will be full again: a token taken makes that one interval
 * later. One small conditional write either way.
 */
export interface RateBucketStore {
  /** Takes the first token out of a bucket that is full by now: `fullAt` becomes now + interval. */
  takeFirst(bucket: RateBucket, time: { now: number; interval: number }): Promise<BucketChange>;
  /** Takes a token out of a bucket that is not full, unless it would be full only after `latest`. */
  takeNext(
    bucket: RateBucket,
    time: { now: number; interval: number; latest: number },
  ): Promise<BucketChange>;
}
