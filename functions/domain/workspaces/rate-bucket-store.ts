import type { RateClass, RateLimit } from '#contract/rate-limits.ts';

export interface RateBucket {
  workspaceId: string;
  apiKeyId: string;
  rateClass: RateClass;
  limit: RateLimit;
}

/** The bucket after the write, or as found if no token was taken. It is full again at `fullAt`, epoch milliseconds. */
export interface BucketChange {
  taken: boolean;
  fullAt: number;
}

/**
 * Token buckets. The stored state of a bucket is one number: the time when it is full again. Taking a token moves that
 * time by one interval. Each take is one small conditional write. Times and intervals in milliseconds.
 */
export interface RateBucketStore {
  /** Takes a token from a bucket that is full at `now`: `fullAt` becomes now + interval. */
  takeFirst(bucket: RateBucket, time: { now: number; interval: number }): Promise<BucketChange>;
  /**
   * Takes a token from a bucket that is not full, unless its `fullAt` is after `latest`: then it has no whole token.
   */
  takeNext(
    bucket: RateBucket,
    time: { now: number; interval: number; latest: number },
  ): Promise<BucketChange>;
}
