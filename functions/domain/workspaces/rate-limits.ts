import type { ServiceError } from '#contract/errors.ts';
import type { Limits, RateClass, Tokens } from '#contract/rate-limits.ts';

/** The outcome of the rate limiter for one request. */
export interface RateLimitDecision {
  /**
   * The bucket of the class that rejects the request, otherwise of its first class. `limit` and `remaining` are in
   * tokens, `reset` is in whole seconds. Null if the class has no limit, or the limiter failed open.
   */
  bucket: { limit: number; remaining: number; reset: number } | null;
  /**
   * Null if the request is allowed. rateLimited with the time to wait; badRequest if the request takes more tokens than
   * a full bucket has.
   */
  rejection: ServiceError | null;
}

/** The rate limits of one process. */
export interface RateLimits {
  /**
   * Takes tokens of several classes for a request, all or none. It usually costs one write, and none if this function
   * instance knows that a bucket has too few tokens. Fails open if the table fails: a limit protects the service and
   * must not cause an outage.
   * @returns the decision; a promise of it unless a bucket is known to have too few tokens. A rejection is returned,
   *   not thrown
   */
  take(owner: BucketOwner, tokens: Tokens): RateLimitDecision | Promise<RateLimitDecision>;
  /**
   * Charges the request's usage beyond the tokens that it took. This writes nothing: a later take of the key in this
   * process, or `writeCharges`, writes the charge. Until then, it is lost if the process ends.
   */
  charge(owner: BucketOwner, tokens: Tokens): void;
  /** Writes the charges at once, for a process that may not take tokens again. Never rejects. */
  writeCharges(owner: BucketOwner): Promise<void>;
}

/** Whose buckets: an API key, or the operators of a workspace, under the limits of the workspace. */
export interface BucketOwner {
  workspaceId: string;
  apiKeyId: string;
  limits: Limits;
}

/** A change of one bucket. Times are in epoch milliseconds; amounts are the milliseconds in which they are refilled. */
export interface BucketChange {
  rateClass: RateClass;
  /** What is taken from the bucket. */
  amount: number;
  /** Whether the bucket is full before the change, as far as the process knows. */
  isFull: boolean;
  /**
   * The change is possible only if the bucket, before the change, is full again at this time or earlier. Null: at any
   * time.
   */
  latest: number | null;
}

/** When buckets are full again, in epoch milliseconds. A bucket that is not stored has no entry. */
export type FullTimes = Partial<Record<RateClass, number>>;

/**
 * Token buckets. The stored state of a bucket is one number: the time when it is full again. Taking tokens moves that
 * time. The buckets of a key under the same limits are one item, so that a request takes from several of them in one
 * write.
 */
export interface RateBucketStore {
  /**
   * Makes all changes, or none if one of them is not possible.
   * @param expiresAt epoch milliseconds; at this time at the latest, all buckets of the key are full
   * @returns the changed buckets after the write, or all buckets as they were found if nothing was changed
   */
  take(
    owner: BucketOwner,
    changes: readonly BucketChange[],
    time: { now: number; expiresAt: number },
  ): Promise<{ taken: boolean; fullTimes: FullTimes }>;
}

/**
 * Waits until the rate limiter has allowed the request. The check starts before the use case, which may read while the
 * check runs. The use case must not write before this resolves.
 * @throws rateLimited; badRequest if the request takes more tokens than a full bucket has
 */
export type AwaitRateLimit = () => Promise<void>;
