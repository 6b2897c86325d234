import { describe, expect, it } from 'vitest';
import type { RateLimit } from '#contract/rate-limits.ts';
import type { BucketChange, RateBucket } from '#domain/workspaces/rate-bucket-store.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { openStores } from '#support/open-stores.ts';

const { stores } = closeAfterTests(await openStores());

let ids = 0;
const newId = (kind: string): string => `${kind}_${String(++ids).padStart(4, '0')}`;

const perMinute: RateLimit = { count: 10, seconds: 60, burst: 10 };

describe('a rate bucket', () => {
  const bucketWith = (changes: Partial<RateBucket> = {}): RateBucket => ({
    workspaceId: newId('ws'),
    apiKeyId: newId('key'),
    rateClass: 'sends',
    limit: perMinute,
    ...changes,
  });
  const at = 1_800_000_000_000;
  const interval = 6000;
  const taken = (fullAt: number): BucketChange => ({ taken: true, fullAt });
  const notTaken = (fullAt: number): BucketChange => ({ taken: false, fullAt });

  it('without a token taken is full', async () => {
    const bucket = bucketWith();
    expect(
      await stores.rateBuckets.takeNext(bucket, { now: at, interval, latest: at + 9 * interval }),
    ).toEqual(notTaken(0));
    expect(await stores.rateBuckets.takeFirst(bucket, { now: at, interval })).toEqual(taken(at + interval));
  });

  it('is full again at its time, not before', async () => {
    const bucket = bucketWith();
    const { takeFirst } = stores.rateBuckets;
    await takeFirst(bucket, { now: at, interval });
    const fullAt = at + interval;
    expect(await takeFirst(bucket, { now: at, interval })).toEqual(notTaken(fullAt));
    expect(await takeFirst(bucket, { now: fullAt - 1, interval })).toEqual(notTaken(fullAt));
    expect(await takeFirst(bucket, { now: fullAt, interval })).toEqual(taken(fullAt + interval));
    expect(await takeFirst(bucket, { now: fullAt + 3 * interval, interval })).toEqual(
      taken(fullAt + 4 * interval),
    );
  });

  it('has a next token until its latest time, and only while it is not full', async () => {
    const bucket = bucketWith();
    await stores.rateBuckets.takeFirst(bucket, { now: at, interval });
    const fullAt = at + interval;
    const takeNext = (now: number, latest: number) =>
      stores.rateBuckets.takeNext(bucket, { now, interval, latest });
    expect(await takeNext(at, fullAt - 1)).toEqual(notTaken(fullAt));
    expect(await takeNext(fullAt, fullAt + interval)).toEqual(notTaken(fullAt));
    expect(await takeNext(at, fullAt)).toEqual(taken(fullAt + interval));
    expect(await takeNext(fullAt + interval - 1, fullAt + interval)).toEqual(taken(fullAt + 2 * interval));
  });

  it('gains tokens in parts of a millisecond', async () => {
    const bucket = bucketWith({ limit: { count: 3, seconds: 1, burst: 3 } });
    const third = 333.334;
    await stores.rateBuckets.takeFirst(bucket, { now: at, interval: third });
    const next = { now: at, interval: third, latest: at + 2 * third };
    expect((await stores.rateBuckets.takeNext(bucket, next)).fullAt).toBeCloseTo(at + 2 * third, 3);
  });

  it('gives each token to one of many requests', async () => {
    const bucket = bucketWith();
    const requests = Array.from({ length: 20 }, () =>
      stores.rateBuckets.takeFirst(bucket, { now: at, interval }),
    );
    expect((await Promise.all(requests)).filter((change) => change.taken)).toEqual([taken(at + interval)]);
    const latest = at + 4 * interval;
    const changes = await Promise.all(
      Array.from({ length: 20 }, () => stores.rateBuckets.takeNext(bucket, { now: at, interval, latest })),
    );
    const given = changes.filter((change) => change.taken).map(({ fullAt }) => (fullAt - at) / interval);
    expect(given.toSorted()).toEqual([2, 3, 4, 5]);
    expect(changes.filter((change) => !change.taken)).toEqual(
      Array.from({ length: 16 }, () => notTaken(at + 5 * interval)),
    );
  });

  it('is one of a workspace, key, class and limit', async () => {
    const bucket = bucketWith();
    await stores.rateBuckets.takeFirst(bucket, { now: at, interval });
    for (const changes of [
      { workspaceId: newId('ws') },
      { apiKeyId: newId('key') },
      { rateClass: 'reads' as const },
      { limit: { ...perMinute, burst: 11 } },
    ])
      expect(await stores.rateBuckets.takeFirst({ ...bucket, ...changes }, { now: at, interval })).toEqual(
        taken(at + interval),
      );
  });
});
