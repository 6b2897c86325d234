import type { ServiceError } from '#contract/errors.ts';
import type { Limits, RateClass, Tokens } from '#contract/rate-limits.ts';

export interface RateLimitDecision {
  /**
   * The bucket of the class that rejects the request, otherwise of its first class. Null if that class has no limit, or
   * the limiter failed open. `limit` is the bucket's size, and `reset` the seconds until it is full again.
   */
  bucket: { limit: number; remaining: number; reset: number } | null;
  /** Null if the request is allowed; badRequest if a full bucket has fewer tokens, otherwise rateLimited. */
  rejection: ServiceError | null;
}

export interface RateLimits {
  /**
   * Takes the tokens of all classes or none. Fails open if the buckets cannot be written: a limit must not cause an
   * outage.
   * @returns a promise unless a bucket is known to have too few tokens. A rejection is returned, not thrown
   */
  take(owner: BucketOwner, tokens: Tokens): RateLimitDecision | Promise<RateLimitDecision>;
  /**
   * Writes nothing: the next write of the key's buckets by this process, in `take` or `writeCharges`, includes the
   * charge, unless it was lost before, for example at the end of the process.
   */
  charge(owner: BucketOwner, tokens: Tokens): void;
  /** For a process that might not call `take` again. Never rejects. */
  writeCharges(owner: BucketOwner): Promise<void>;
}

export interface BucketOwner {
  workspaceId: string;
  apiKeyId: string;
  limits: Limits;
}

/** Times are in epoch milliseconds; amounts are the milliseconds in which they are refilled. */
export interface BucketChange {
  rateClass: RateClass;
  amount: number;
  isFull: boolean;
  /** The change is made only if the stored bucket is full again by this time. Null if it only writes charges. */
  latest: number | null;
}

/** In epoch milliseconds. A bucket that is not stored has no entry. */
export type FullTimes = Partial<Record<RateClass, number>>;

/**
 * The stored state of a bucket is the time when it is full again. The buckets of a key under the same limits are one
 * item, so that one write takes from several of them.
 */
export interface RateBucketStore {
  /**
   * Makes all changes, or none if one of them is not possible.
   * @param time.expiresAt epoch milliseconds; some time after it, the buckets may be deleted
   * @returns the changed buckets after the write, or all buckets as they were found if nothing was changed
   */
  take(
    owner: BucketOwner,
    changes: readonly BucketChange[],
    time: { now: number; expiresAt: number },
  ): Promise<{ taken: boolean; fullTimes: FullTimes }>;
}

/**
 * The use case may read before this resolves, and must not write.
 * @throws rateLimited
 */
export type AwaitRateLimit = () => Promise<void>;
