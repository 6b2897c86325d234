import type { RateClass } from '#contract/rate-limits.ts';
import type { Caller } from '#domain/workspaces/authorize-request.ts';
import { checkRateLimit, type RateLimitDecision } from '#domain/workspaces/check-rate-limit.ts';
import { clock, log, rateBuckets } from '#runtime/composition/services.ts';

/** Where a request waits for its key's limit, while what only reads may go on. */
export interface RateLimiter {
  /**
   * Resolves when the request is let in. Before that nothing may be written, and no answer leave.
   * @throws rateLimited
   */
  readonly admitted: Promise<void>;
  /**
   * What its answer tells of the limit.
   * @throws Error while it is not known whether the request is let in
   */
  headers(): Record<string, string>;
  /**
   * Does a request's work, which waits for `admitted` by itself where it must.
   * @throws rateLimited before anything that the work throws, and without the work when it is known at once
   */
  through<Result>(work: () => Promise<Result>): Promise<Result>;
}

let checkLimit: ReturnType<typeof checkRateLimit> | undefined;

/** The gates of requests, so that the way out, which failures take too, knows what to tell. */
const limiters = new WeakMap<object, RateLimiter>();

/**
 * Takes a token from the caller's bucket.
 * @param request what the platform has handed over
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

/** Headers of the answer to a request: none where nothing is limited. */
export const rateHeadersOf = (request: object): Record<string, string> =>
  limiters.get(request)?.headers() ?? {};

const withoutLimit: RateLimiter = {
  admitted: Promise.resolve(),
  headers: () => ({}),
  through: (work) => work(),
};

function limiterOf(pending: RateLimitDecision | Promise<RateLimitDecision>): RateLimiter {
  let known = pending instanceof Promise ? undefined : pending;
  const admitted = Promise.resolve(pending).then((admission) => {
    known = admission;
    if (admission.rejection !== null) throw admission.rejection;
  });
  // Whoever goes through the gate hears of it.
  admitted.catch(() => {});
  return {
    admitted,
    headers: () => headersOf(known),
    async through(work) {
      if (known?.rejection) throw known.rejection;
      // However the work ends, the gate is heard first: a refusal comes before everything else, and in Lambda nothing
      // goes on behind the function's end.
      const [outcome] = await Promise.allSettled([work(), admitted]);
      await admitted;
      if (outcome.status === 'rejected') throw outcome.reason;
      return outcome.value;
    },
  };
}

function headersOf(admission: RateLimitDecision | undefined): Record<string, string> {
  if (admission === undefined) throw new Error('A request is answered before it was let in');
  if (admission.bucket === null) return {};
  const { limit, remaining, reset } = admission.bucket;
  return {
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(reset),
  };
}
