import { furtherTokens, type RequestClass, type Tokens } from '#contract/rate-limits.ts';
import type { Caller } from '#domain/workspaces/api-keys.ts';
import type { AwaitRateLimit, BucketOwner, RateLimitDecision } from '#domain/workspaces/rate-limits.ts';
import { rateLimits } from '#runtime/composition/services.ts';

/** Reads may run concurrently with the check; writes and the response must wait for it. */
export interface RateLimiter {
  readonly awaitRateLimit: AwaitRateLimit;
  /** @throws Error while the check is pending */
  headers(): Record<string, string>;
  /**
   * The work itself awaits the rate limit before it writes.
   * @throws rateLimited, which takes precedence over errors of the work
   */
  through<Result>(work: () => Promise<Result>): Promise<Result>;
  /** @throws badRequest if the limit never allows so many at once; rateLimited */
  takeMore(tokens: Tokens): Promise<void>;
  /** Without a check: the bucket may then reject later requests of the key. */
  charge(tokens: Tokens): void;
}

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
  // Until a caller waits for the rejection, this handler avoids an unhandled rejection.
  checked.catch(() => {});
  return {
    awaitRateLimit: () => checked,
    headers: () => headersOf(resolved),
    async through(work) {
      if (resolved?.rejection) throw resolved.rejection;
      // A rejection by the limiter takes precedence over any outcome of the work, and in Lambda no work may continue
      // after the function has returned.
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
