import { ServiceError } from '#contract/errors.ts';
import {
  formatLimits,
  formatRateLimit,
  type Limits,
  limitName,
  type RateClass,
  type RateLimit,
  rateClasses,
  type Tokens,
} from '#contract/rate-limits.ts';
import { recentlyUsed } from '#domain/platform/recently-used.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import type { KeyOwner } from './usage.ts';

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
   * Writes nothing: the next write of the owner's buckets by this process, in `take` or `writeCharges`, includes the
   * charge, unless it was lost before, for example at the end of the process.
   */
  charge(owner: BucketOwner, tokens: Tokens): void;
  /** For a process that might not call `take` again. Never rejects. */
  writeCharges(owner: BucketOwner): Promise<void>;
}

export interface BucketOwner extends KeyOwner {
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

type LimiterServices = Pick<PlatformServices, 'clock' | 'log'> & { rateBuckets: RateBucketStore };

/** A key that is evicted may lose charges that are not written. */
const maxKeys = 10_000;

/** The second attempt uses what the first has found. The third is for writes of others between these two. */
const attempts = 3;

export function openRateLimits(services: LimiterServices): RateLimits {
  const bucketsOfKeys = recentlyUsed<Buckets>(maxKeys);
  const bucketsOf = (owner: BucketOwner): Buckets => {
    const name = `${owner.workspaceId} ${owner.apiKeyId} ${formatLimits(owner.limits)}`;
    const known = bucketsOfKeys.get(name);
    if (known !== undefined) return known;
    const buckets = newBuckets(owner);
    bucketsOfKeys.set(name, buckets);
    return buckets;
  };
  const now = (): number => services.clock.now().getTime();
  return {
    take(owner, tokens) {
      const request: Request = { owner, buckets: bucketsOf(owner), tokens, now: now() };
      const known = rejectionOf(request);
      if (known !== undefined) return known;
      return write(services, request).catch((error: unknown) => {
        services.log.warn('A rate limit was not checked', { rateClass: Object.keys(tokens)[0], error });
        return { bucket: null, rejection: null };
      });
    },
    charge(owner, tokens) {
      const buckets = bucketsOf(owner);
      for (const [rateClass, amount] of Object.entries(tokens)) {
        const bucket = buckets.get(rateClass as RateClass);
        bucket?.owe(amount * bucket.interval, now());
      }
    },
    async writeCharges(owner) {
      await write(services, { owner, buckets: bucketsOf(owner), tokens: {}, now: now() }).catch(
        (error: unknown) => services.log.warn('A rate limit was not charged', { error }),
      );
    },
  };
}

type Buckets = ReadonlyMap<RateClass, Bucket>;

interface Request {
  owner: BucketOwner;
  buckets: Buckets;
  tokens: Tokens;
  now: number;
}

const newBuckets = ({ limits }: BucketOwner): Buckets =>
  new Map(
    rateClasses.flatMap((rateClass): [RateClass, Bucket][] => {
      const limit = limits[rateClass];
      return limit === null ? [] : [[rateClass, new Bucket(rateClass, limit)]];
    }),
  );

/** Times are in milliseconds. An `amount` is the time in which its tokens are refilled; `tokens` is their number. */
class Bucket {
  readonly rateClass: RateClass;
  readonly limit: RateLimit;
  /** In which the bucket gains one token, rounded up to a microsecond. */
  readonly interval: number;
  /** As far as the process knows. The stored value never decreases, so an old one is a safe lower bound. */
  fullAt = 0;
  #unpaid = 0;
  #chargedAt = 0;

  constructor(rateClass: RateClass, limit: RateLimit) {
    this.rateClass = rateClass;
    this.limit = limit;
    this.interval = Math.ceil((limit.seconds * 1e6) / limit.count) / 1000;
  }

  owe(amount: number, now: number): void {
    this.#unpaid = this.unpaid(now) + amount;
    this.#chargedAt = now;
  }

  /** The amount that is charged and not written. It is refilled after everything that is written. */
  unpaid(now: number): number {
    return Math.max(0, this.#unpaid - Math.max(0, now - Math.max(this.fullAt, this.#chargedAt)));
  }

  /** The caller must write the returned amount, or call `owe` with it. */
  pay(now: number): number {
    const amount = this.unpaid(now);
    this.#unpaid = 0;
    return amount;
  }

  due(now: number): number {
    return Math.max(this.fullAt, now) + this.unpaid(now);
  }

  latest(tokens: number, now: number): number {
    return now + this.interval * (this.limit.burst - tokens);
  }
}

async function write(services: LimiterServices, request: Request): Promise<RateLimitDecision> {
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    if (await writeOnce(services, request)) return allowed(request);
    const found = rejectionOf(request);
    if (found !== undefined) return found;
  }
  throw new Error(`Others have changed the buckets before each of ${attempts} attempts`);
}

/** @returns false if the changes were not possible. Then no `fullAt` is earlier than the stored one */
async function writeOnce(
  { rateBuckets }: LimiterServices,
  { owner, buckets, tokens, now }: Request,
): Promise<boolean> {
  const all = [...buckets.values()];
  const payments = all.map((bucket) => ({ bucket, paid: bucket.pay(now), taken: tokens[bucket.rateClass] }));
  const changes = payments.flatMap(({ bucket, paid, taken }): BucketChange[] => {
    if (taken === undefined && paid === 0) return [];
    const { rateClass, interval, fullAt } = bucket;
    return [
      {
        rateClass,
        amount: paid + interval * (taken ?? 0),
        isFull: fullAt <= now,
        latest: taken === undefined ? null : bucket.latest(taken, now) - paid,
      },
    ];
  });
  if (changes.length === 0) return true;
  // Charges may take a bucket below zero. Then it needs more time to be full than an empty bucket.
  const expiresAt = Math.max(
    ...payments.map(({ bucket, paid }) => Math.max(bucket.fullAt, bucket.latest(0, now)) + paid),
  );
  let isTaken = false;
  try {
    const { taken, fullTimes } = await rateBuckets.take(owner, changes, { now, expiresAt });
    isTaken = taken;
    for (const bucket of all) bucket.fullAt = Math.max(bucket.fullAt, fullTimes[bucket.rateClass] ?? 0);
    return taken;
  } finally {
    if (!isTaken) for (const { bucket, paid } of payments) bucket.owe(paid, now);
  }
}

function rejectionOf({ buckets, tokens, now }: Request): RateLimitDecision | undefined {
  let longest: { bucket: Bucket; wait: number } | undefined;
  for (const bucket of buckets.values()) {
    const taken = tokens[bucket.rateClass];
    if (taken === undefined) continue;
    if (taken > bucket.limit.burst) return rejectedForGood(bucket, taken, now);
    const wait = bucket.due(now) - bucket.latest(taken, now);
    if (wait > (longest?.wait ?? 0)) longest = { bucket, wait };
  }
  return longest && rejected(longest.bucket, longest.wait, now);
}

/** Rounds to microseconds first, to drop errors of floating-point sums. */
const wholeSeconds = (milliseconds: number): number => Math.ceil(Math.round(milliseconds * 1000) / 1e6);

function allowed({ buckets, tokens, now }: Request): RateLimitDecision {
  const bucket = buckets.get(Object.keys(tokens)[0] as RateClass);
  return { bucket: bucket === undefined ? null : stateOf(bucket, now), rejection: null };
}

function stateOf(bucket: Bucket, now: number) {
  const { burst } = bucket.limit;
  const wait = bucket.due(now) - now;
  const taken = Math.round((wait / bucket.interval) * 1000) / 1000;
  return { limit: burst, remaining: Math.max(0, Math.floor(burst - taken)), reset: wholeSeconds(wait) };
}

const describeLimit = ({ rateClass, limit }: Bucket): string =>
  `${limitName(rateClass, ' ')} are limited to ${formatRateLimit(limit)}`;

function rejected(bucket: Bucket, wait: number, now: number): RateLimitDecision {
  const retryAfter = Math.max(1, wholeSeconds(wait));
  const message = `Rate limit exceeded: ${describeLimit(bucket)}, try again in ${retryAfter} s`;
  return {
    bucket: { ...stateOf(bucket, now), remaining: 0 },
    rejection: new ServiceError('rateLimited', message, { retryAfter }),
  };
}

const rejectedForGood = (bucket: Bucket, tokens: number, now: number): RateLimitDecision => ({
  bucket: stateOf(bucket, now),
  rejection: new ServiceError('badRequest', `${describeLimit(bucket)}: ${tokens} at once are too many`),
});
