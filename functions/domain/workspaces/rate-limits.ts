import type { ServiceError } from '#contract/errors.ts';
import type { Tokens } from '#contract/rate-limits.ts';
import type { BucketOwner } from './rate-bucket-store.ts';

/** The outcome of the rate limiter for one request. */
export interface RateLimitDecision {
  /**
   * Of the class that rejects the request, else of its first class. `limit` and `remaining` in tokens, `reset` in whole
   * seconds. Null if the class has no limit, or the limiter failed open.
   */
  bucket: { limit: number; remaining: number; reset: number } | null;
  /** Null if the request is allowed. */
  rejection: ServiceError | null;
}

/** The rate limits of one process. */
export interface RateLimits {
  /**
   * Takes tokens of several classes for a request, all or none. It usually costs one write. It costs two if another
   * function instance has taken tokens since this one last read the buckets, and none if this instance knows that a bucket
   * is empty. Fails open if the table fails: a limit protects the service and must not cause an outage.
   * @returns the decision; a promise of it unless a bucket is known to be empty
   */
  take(owner: BucketOwner, tokens: Tokens): RateLimitDecision | Promise<RateLimitDecision>;
  /**
   * Charges what a request has used beyond what it took, without a write: the next take of the key in this process writes
   * it. Until then other processes do not know it, and it is lost if the process ends.
   */
  charge(owner: BucketOwner, tokens: Tokens): void;
  /** Writes what is charged, for a process that takes nothing itself. Never rejects. */
  writeCharges(owner: BucketOwner): Promise<void>;
}
