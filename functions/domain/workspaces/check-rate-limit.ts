import { ServiceError } from '#contract/errors.ts';
import { formatRateLimit, type RateLimit } from '#contract/rate-limits.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import type { BucketChange, RateBucket } from './rate-bucket-store.ts';
import type { WorkspaceServices } from './services.ts';

/** What has become of a request at its key's bucket. */
export interface Admission {
  /** Tokens and whole seconds; null when the bucket could not be asked, and the request is let in. */
  bucket: { limit: number; remaining: number; reset: number } | null;
  /** Null for a request that is let in. */
  rejection: ServiceError | null;
}

/** A function sees the busy keys again and again; what it forgets costs one write more. */
const bucketsRemembered = 10_000;

/**
 * Takes a token for a request: one write in the common case, two when another function has taken one since this one last
 * looked, none when this one knows that the bucket is empty. When the table fails, the request is let in: a limit
 * protects the service, and must not be what brings it down.
 * @returns at once, without a promise, when it is known without asking
 */
export const checkRateLimit = (
  services: Pick<WorkspaceServices, 'rateBuckets'> & Pick<PlatformServices, 'clock' | 'log'>,
) => {
  /** The moment when a bucket was to be full again, when last seen. It only moves on, so it may be believed. */
  const seen = new Map<string, number>();
  const remember = (name: string, fullAt: number): void => {
    seen.delete(name);
    seen.set(name, fullAt);
    const [oldest] = seen.keys();
    if (seen.size > bucketsRemembered && oldest !== undefined) seen.delete(oldest);
  };

  return (bucket: RateBucket): Admission | Promise<Admission> => {
    const now = services.clock.now().getTime();
    const name = [bucket.apiKeyId, bucket.rateClass, formatRateLimit(bucket.limit)].join(' ');
    const fullAt = seen.get(name) ?? 0;
    if (isEmpty(bucket.limit, fullAt, now)) return rejected(bucket, fullAt, now);
    return take(services, bucket, fullAt, now).then(
      (change) => {
        remember(name, change.fullAt);
        return change.taken ? admitted(bucket, change.fullAt, now) : rejected(bucket, change.fullAt, now);
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
  believed: number,
  now: number,
): Promise<BucketChange> {
  const { limit } = bucket;
  const interval = intervalOf(limit);
  const attempt = (fullAt: number) =>
    fullAt > now
      ? rateBuckets.takeNext(bucket, { now, interval, latest: latestOf(limit, now) })
      : rateBuckets.takeFirst(bucket, { now, interval });
  const first = await attempt(believed);
  return first.taken || isEmpty(limit, first.fullAt, now) ? first : attempt(first.fullAt);
}

/** Milliseconds until a token comes back, to a thousandth. */
const intervalOf = ({ count, seconds }: RateLimit): number => Math.ceil((seconds * 1e6) / count) / 1000;

/** A bucket that is full only later than this has less than one token. */
const latestOf = (limit: RateLimit, now: number): number => now + intervalOf(limit) * (limit.burst - 1);

const isEmpty = (limit: RateLimit, fullAt: number, now: number): boolean => fullAt > latestOf(limit, now);

/** Of milliseconds, rounded up; what is behind the microseconds is left from sums of fractions. */
const wholeSeconds = (milliseconds: number): number => Math.ceil(Math.round(milliseconds * 1000) / 1e6);

function admitted({ limit }: RateBucket, fullAt: number, now: number): Admission {
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

function rejected({ limit, rateClass }: RateBucket, fullAt: number, now: number): Admission {
  const retryAfter = Math.max(1, wholeSeconds(fullAt - latestOf(limit, now)));
  const message = `Rate limit exceeded: ${rateClass} are limited to ${formatRateLimit(limit)}, try again in ${retryAfter} s`;
  return {
    bucket: { limit: limit.burst, remaining: 0, reset: wholeSeconds(fullAt - now) },
    rejection: new ServiceError('rateLimited', message, { retryAfter }),
  };
}
