import { ServiceError } from '#contract/errors.ts';
import { formatRateLimit, type RateLimit } from '#contract/rate-limits.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import type { BucketChange, RateBucket } from './rate-bucket-store.ts';
import type { WorkspaceServices } from './services.ts';

/** The outcome of the rate limiter for one request. */
export interface RateLimitDecision {
  /** `limit` and `remaining` in tokens, `reset` in whole seconds. Null if the limiter failed open. */
  bucket: { limit: number; remaining: number; reset: number } | null;
  /** Null if the request is allowed. */
  rejection: ServiceError | null;
}

/** Bounds the cache's memory. A bucket that was evicted costs one extra write at its next request. */
const maxCachedBuckets = 10_000;

/**
 * Takes a token for a request. It usually costs one write. It costs two if another function instance has taken a token
 * since this one last read the bucket, and none if this instance knows that the bucket is empty. Fails open if the
 * table fails: a limit protects the service and must not cause an outage.
 * @returns the decision; a promise of it unless the bucket is known to be empty
 */
export const checkRateLimit = (
  services: Pick<WorkspaceServices, 'rateBuckets'> & Pick<PlatformServices, 'clock' | 'log'>,
) => {
  /** When each bucket is full again, in epoch milliseconds. Never decreases, so a stale value is a safe lower bound. */
  const fullTimes = new Map<string, number>();
  const remember = (name: string, fullAt: number): void => {
    fullTimes.delete(name);
    fullTimes.set(name, fullAt);
    const [oldest] = fullTimes.keys();
    if (fullTimes.size > maxCachedBuckets && oldest !== undefined) fullTimes.delete(oldest);
  };

  return (bucket: RateBucket): RateLimitDecision | Promise<RateLimitDecision> => {
    const now = services.clock.now().getTime();
    const name = [bucket.apiKeyId, bucket.rateClass, formatRateLimit(bucket.limit)].join(' ');
    const fullAt = fullTimes.get(name) ?? 0;
    if (isEmpty(bucket.limit, fullAt, now)) return rejected(bucket, fullAt, now);
    return take(services, bucket, fullAt, now).then(
      (change) => {
        remember(name, change.fullAt);
        return change.taken ? allowed(bucket, change.fullAt, now) : rejected(bucket, change.fullAt, now);
      },
      (error: unknown) => {
        services.log.warn('A rate limit was not checked', { rateClass: bucket.rateClass, error });
        return { bucket: null, rejection: null };
      },
    );
  };
};

async function take(
  { rateBuckets }: Pick<WorkspaceServices, 'rateBuckets'>,
  bucket: RateBucket,
  cachedFullAt: number,
  now: number,
): Promise<BucketChange> {
  const { limit } = bucket;
  const interval = intervalOf(limit);
  const attempt = (fullAt: number) =>
    fullAt > now
      ? rateBuckets.takeNext(bucket, { now, interval, latest: latestOf(limit, now) })
      : rateBuckets.takeFirst(bucket, { now, interval });
  const first = await attempt(cachedFullAt);
  return first.taken || isEmpty(limit, first.fullAt, now) ? first : attempt(first.fullAt);
}

/** Milliseconds in which the bucket gains one token, rounded up to a microsecond. */
const intervalOf = ({ count, seconds }: RateLimit): number => Math.ceil((seconds * 1e6) / count) / 1000;

/** A bucket that is full only after this time has less than one token. Epoch milliseconds. */
const latestOf = (limit: RateLimit, now: number): number => now + intervalOf(limit) * (limit.burst - 1);

const isEmpty = (limit: RateLimit, fullAt: number, now: number): boolean => fullAt > latestOf(limit, now);

/**
 * Converts milliseconds to seconds, rounded up. Rounds to microseconds first, to drop errors of floating-point sums.
 */
const wholeSeconds = (milliseconds: number): number => Math.ceil(Math.round(milliseconds * 1000) / 1e6);

function allowed({ limit }: RateBucket, fullAt: number, now: number): RateLimitDecision {
  const taken = Math.round(((fullAt - now) / intervalOf(limit)) * 1000) / 1000;
  return {
    bucket: {
      limit: limit.burst,
      remaining: Math.floor(limit.burst - taken),
      reset: wholeSeconds(fullAt - now),
    },
    rejection: null,
  };
}

function rejected({ limit, rateClass }: RateBucket, fullAt: number, now: number): RateLimitDecision {
  const retryAfter = Math.max(1, wholeSeconds(fullAt - latestOf(limit, now)));
  const message = `Rate limit exceeded: ${rateClass} are limited to ${formatRateLimit(limit)}, try again in ${retryAfter} s`;
  return {
    bucket: { limit: limit.burst, remaining: 0, reset: wholeSeconds(fullAt - now) },
    rejection: new ServiceError('rateLimited', message, { retryAfter }),
  };
}
