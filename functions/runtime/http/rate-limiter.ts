import type { RateClass } from '#contract/rate-limits.ts';
import type { Caller } from '#domain/workspaces/authorize-request.ts';
import type { AwaitRateLimit } from '#domain/workspaces/await-rate-limit.ts';
import { checkRateLimit, type RateLimitDecision } from '#domain/workspaces/check-rate-limit.ts';
import { clock, log, rateBuckets } from '#runtime/composition/services.ts';

/** The rate limit check of one request. Reads may run concurrently with it; writes and the response must await it. */
export interface RateLimiter {
  /** Before it resolves, nothing may be written and no response may leave. */
  readonly awaitRateLimit: AwaitRateLimit;
  /**
   * The rate limit headers of the response.
   * @throws Error while the check is pending
   */
  headers(): Record<string, string>;
  /**
   * Runs the work of a request. The work itself awaits the rate limit before it writes.
   * @throws rateLimited, which takes precedence over errors of the work. If the limit is known to be exceeded, the work
   * does not start.
   */
  through<Result>(work: () => Promise<Result>): Promise<Result>;
}

let checkLimit: ReturnType<typeof checkRateLimit> | undefined;

/** The limiter of each request, so that error responses have the rate limit headers too. */
const limiters = new WeakMap<object, RateLimiter>();

/**
 * Takes a token from the caller's bucket.
 * @param request the platform's event or request, as the key for `rateHeadersOf`
 */
export function startRateLimit(
  request: object,
  rateClass: RateClass,
  { workspaceId, apiKeyId, limits }: Caller,
): RateLimiter {
  const limit = limits?.[rateClass] ?? null;
  if (limit === null) return withoutLimit;
  checkLimit ??= checkRateLimit({ clock, log, rateBuckets: rateBuckets() });
  const limiter = limiterOf(checkLimit({ workspaceId, apiKeyId, rateClass, limit }));
  limiters.set(request, limiter);
  return limiter;
}

/** The rate limit headers of the response: none if the request has no limit. */
export const rateHeadersOf = (request: object): Record<string, string> =>
  limiters.get(request)?.headers() ?? {};

const withoutLimit: RateLimiter = {
  awaitRateLimit: async () => {},
  headers: () => ({}),
  through: (work) => work(),
};

function limiterOf(pending: RateLimitDecision | Promise<RateLimitDecision>): RateLimiter {
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
