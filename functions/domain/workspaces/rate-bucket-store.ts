import type { Limits, RateClass } from '#contract/rate-limits.ts';

/** The buckets of an API key, under the limits of its workspace. */
export interface BucketOwner {
  workspaceId: string;
  apiKeyId: string;
  limits: Limits;
}

/** What is added to one bucket. Times and amounts in milliseconds. */
export interface BucketChange {
  rateClass: RateClass;
  amount: number;
  /** Whether the bucket is full. */
  isFull: boolean;
  /** The bucket must not be full later than this; null if it may. */
  latest: number | null;
}

/** When each bucket is full again, epoch milliseconds. A bucket that was never used is missing. */
export type FullTimes = Partial<Record<RateClass, number>>;

/**
 * Token buckets. The stored state of a bucket is one number: the time when it is full again. Taking tokens moves that
 * time. All buckets of a key are one item, so that a request takes from several of them in one small conditional write.
 */
export interface RateBucketStore {
  /**
   * Makes all changes, or none if one is not possible.
   * @param expiresAt epoch milliseconds: by then all buckets of the key are full
   * @returns the buckets after the write, or as found if nothing was changed
   */
  take(
    owner: BucketOwner,
    changes: readonly BucketChange[],
    time: { now: number; expiresAt: number },
  ): Promise<{ taken: boolean; fullTimes: FullTimes }>;
}
