import { furtherTokens, type RequestClass, type Tokens } from '#contract/rate-limits.ts';
import type { Caller } from '#domain/workspaces/api-keys.ts';
import type { AwaitRateLimit, BucketOwner, RateLimitDecision } from '#domain/workspaces/rate-limits.ts';
import { rateLimits } from '#runtime/composition/services.ts';

/**
 * The check of the rate limit for one request. Reads may run concurrently with it; writes and the response must wait
 * for it.
 */
export interface RateLimiter {
  /** Waits for the check. Before it resolves, nothing may be written and no response may be sent. */
  readonly awaitRateLimit: AwaitRateLimit;
  /**
   * Returns the rate limit headers of the response; none without a limit.
   * @throws Error while the check is pending
   */
  headers(): Record<string, string>;
  /**
   * Runs the work of a request. The work itself awaits the rate limit before it writes.
   * @throws rateLimited, which takes precedence over errors of the work; these errors. If the limit is already known to
   *   be exceeded, the work does not start
   */
  through<Result>(work: () => Promise<Result>): Promise<Result>;
  /**
   * Takes further tokens, once the work knows how many it needs.
   * @throws badRequest if the limit never allows so many at once; rateLimited
   */
  takeMore(tokens: Tokens): Promise<void>;
  /** Charges further usage of the request without a check. The bucket may then reject later requests of the key. */
  charge(tokens: Tokens): void;
}

/** Starts to take the tokens of a request from the caller's buckets. */
export const startRateLimit = (
  requestClass: RequestClass,
  { workspaceId, apiKeyId, limits }: Caller,
): RateLimiter =>
  limits === null
    ? withoutLimit
    : limiterOf({ workspaceId, apiKeyId, limits }, { [requestClass]: 1, ...furtherTokens[requestClass] });

const withoutLimit: RateLimiter = {
  awaitRateLimit: async () => {},
  headers: () => ({}),
  through: (work) => work(),
  takeMore: async () => {},
  charge: () => {},
};

function limiterOf(owner: BucketOwner, tokens: Tokens): RateLimiter {
  const pending = rateLimits().take(owner, tokens);
  let resolved = pending instanceof Promise ? undefined : pending;
  const checked = Promise.resolve(pending).then((decision) => {
    resolved = decision;
    if (decision.rejection !== null) throw decision.rejection;
  });
  // `through` and the callers of `awaitRateLimit` get the rejection. Until they wait for it, this handler avoids an
  // unhandled rejection.
  checked.catch(() => {});
  return {
    awaitRateLimit: () => checked,
    headers: () => headersOf(resolved),
    async through(work) {
      if (resolved?.rejection) throw resolved.rejection;
      // Wait for both: a rejection by the limiter takes precedence over any outcome of the work, and in Lambda no work
      // may continue after the function has returned.
      const [outcome] = await Promise.allSettled([work(), checked]);
      await checked;
      if (outcome.status === 'rejected') throw outcome.reason;
      return outcome.value;
    },
    async takeMore(more) {
      const decision = await rateLimits().take(owner, more);
      if (decision.rejection === null) return;
      resolved = decision;
      throw decision.rejection;
    },
    charge: (used) => rateLimits().charge(owner, used),
  };
}

function headersOf(decision: RateLimitDecision | undefined): Record<string, string> {
  if (decision === undefined) throw new Error('The response was made before the rate limit check ended');
  if (decision.bucket === null) return {};
  const { limit, remaining, reset } = decision.bucket;
  return {
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(reset),
  };
}
