import { describe, expect, it } from 'vitest';
import { parseLimits } from '#contract/rate-limits.ts';
import type { IdempotencyKey } from '#domain/platform/idempotency.ts';
import type { BucketChange, BucketOwner } from '#domain/workspaces/rate-limits.ts';
import { noModelUsage, type Use } from '#domain/workspaces/usage.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { openStores } from '#support/open-stores.ts';

const { stores, clock } = closeAfterTests(await openStores());

let ids = 0;
const newId = (kind: string): string => `${kind}_${String(++ids).padStart(4, '0')}`;

describe('usage', () => {
  const useOf = (changes: Partial<Use> = {}): Use => ({
    workspaceId: newId('ws'),
    apiKeyId: 'key_1',
    agentId: 'agent-1',
    counts: { turns: 1 },
    calls: [],
    ...changes,
  });
  const usageOf = async (workspaceId: string, from = '2027-01-01', to = '2027-01-31') =>
    (await Array.fromAsync(stores.usage.between(workspaceId, from, to))).flat();

  it('counts every one of many uses at once', async () => {
    const use = useOf({ calls: [['demo', 'chat', 10, 1]] });
    await Promise.all(Array.from({ length: 20 }, () => stores.usage.add(use, '2027-01-15')));
    expect(await usageOf(use.workspaceId)).toMatchObject([
      {
        counts: { turns: 20 },
        models: { demo: { ...noModelUsage, calls: 20, promptTokens: 200, completionTokens: 20 } },
      },
    ]);
  });

  it('is listed from the first to the last day', async () => {
    const use = useOf();
    const days = ['2027-01-09', '2027-01-10', '2027-01-20', '2027-01-21'];
    for (const day of days) await stores.usage.add(use, day);
    const daysBetween = async (from: string, to: string) =>
      (await usageOf(use.workspaceId, from, to)).map(({ day }) => day);
    expect(await daysBetween('2027-01-10', '2027-01-20')).toEqual(['2027-01-10', '2027-01-20']);
    expect(await daysBetween('2027-01-20', '2027-01-20')).toEqual(['2027-01-20']);
    expect(await daysBetween('2027-01-11', '2027-01-19')).toEqual([]);
  });

  it('has no entry for a use of nothing', async () => {
    const use = useOf({ counts: { turns: 0, uploads: 0 } });
    await stores.usage.add(use, '2027-01-15');
    await stores.usage.add({ ...use, counts: {} }, '2027-01-15');
    expect(await usageOf(use.workspaceId)).toEqual([]);
  });
});

const limitsWith = (sends: string) =>
  parseLimits(`reads=none,writes=none,sends=${sends},uploads=none,batches=none,open-batches=none`);

describe('rate buckets', () => {
  const ownerWith = (changes: Partial<BucketOwner> = {}): BucketOwner => ({
    workspaceId: newId('ws'),
    apiKeyId: newId('key'),
    limits: limitsWith('10/m'),
    ...changes,
  });
  const at = 1_800_000_000_000;
  const amount = 6000;
  const take = (owner: BucketOwner, now: number, ...changes: BucketChange[]) =>
    stores.rateBuckets.take(owner, changes, { now, expiresAt: at + 60_000 });
  const first: BucketChange = { rateClass: 'sends', amount, isFull: true, latest: at };
  const nextUntil = (latest: number | null): BucketChange => ({ ...first, isFull: false, latest });
  const taken = (sends: number) => ({ taken: true, fullTimes: { sends } });
  const notTaken = (sends: number) => ({ taken: false, fullTimes: { sends } });

  it('are full without a token taken', async () => {
    const owner = ownerWith();
    const next = nextUntil(at + 9 * amount);
    expect(await take(owner, at, next)).toEqual({ taken: false, fullTimes: {} });
    expect(await take(owner, at, first)).toEqual(taken(at + amount));
  });

  it('are full again at their time, not before', async () => {
    const owner = ownerWith();
    await take(owner, at, first);
    const fullAt = at + amount;
    expect(await take(owner, at, first)).toEqual(notTaken(fullAt));
    expect(await take(owner, fullAt - 1, first)).toEqual(notTaken(fullAt));
    expect(await take(owner, fullAt, first)).toEqual(taken(fullAt + amount));
    expect(await take(owner, fullAt + 3 * amount, first)).toEqual(taken(fullAt + 4 * amount));
  });

  it('have a next token until the latest time, and only while they are not full', async () => {
    const owner = ownerWith();
    await take(owner, at, first);
    const fullAt = at + amount;
    expect(await take(owner, at, nextUntil(fullAt - 1))).toEqual(notTaken(fullAt));
    expect(await take(owner, fullAt, nextUntil(fullAt + amount))).toEqual(notTaken(fullAt));
    expect(await take(owner, at, nextUntil(fullAt))).toEqual(taken(fullAt + amount));
    expect(await take(owner, fullAt + amount - 1, nextUntil(fullAt + amount))).toEqual(
      taken(fullAt + 2 * amount),
    );
    expect(await take(owner, at, nextUntil(null))).toEqual(taken(fullAt + 3 * amount));
  });

  it('take parts of a millisecond', async () => {
    const owner = ownerWith();
    const third = 333.334;
    await take(owner, at, { ...first, amount: third });
    const { fullTimes } = await take(owner, at, { ...nextUntil(at + 2 * third), amount: third });
    expect(fullTimes.sends).toBeCloseTo(at + 2 * third, 3);
  });

  it('of several classes change together or not at all', async () => {
    const owner = ownerWith();
    const calls: BucketChange = { rateClass: 'modelCalls', amount: 100, isFull: true, latest: null };
    expect(await take(owner, at, first, calls)).toEqual({
      taken: true,
      fullTimes: { sends: at + amount, modelCalls: at + 100 },
    });
    // The calls are full again, and the sends have no token until their latest time.
    const now = at + 200;
    const found = { sends: at + amount, modelCalls: at + 100 };
    expect(await take(owner, now, nextUntil(at), calls)).toEqual({ taken: false, fullTimes: found });
    expect(await take(owner, now, nextUntil(at + amount), { ...calls, isFull: false })).toEqual({
      taken: false,
      fullTimes: found,
    });
    expect(await take(owner, now, nextUntil(at + amount), calls)).toEqual({
      taken: true,
      fullTimes: { sends: at + 2 * amount, modelCalls: now + 100 },
    });
  });

  it('give each token to one of many requests', async () => {
    const owner = ownerWith();
    const firsts = await Promise.all(Array.from({ length: 20 }, () => take(owner, at, first)));
    expect(firsts.filter((each) => each.taken)).toEqual([taken(at + amount)]);
    const next = nextUntil(at + 4 * amount);
    const changes = await Promise.all(Array.from({ length: 20 }, () => take(owner, at, next)));
    const given = changes
      .filter((change) => change.taken)
      .map(({ fullTimes: { sends = 0 } }) => (sends - at) / amount);
    expect(given.toSorted()).toEqual([2, 3, 4, 5]);
    expect(changes.filter((change) => !change.taken)).toEqual(
      Array.from({ length: 16 }, () => notTaken(at + 5 * amount)),
    );
  });

  it('are those of a workspace, key, class and limits', async () => {
    const owner = ownerWith();
    await take(owner, at, first);
    for (const changes of [
      { workspaceId: newId('ws') },
      { apiKeyId: newId('key') },
      { limits: limitsWith('10/m:11') },
    ])
      expect(await take({ ...owner, ...changes }, at, first)).toEqual(taken(at + amount));
    expect((await take(owner, at, { ...first, rateClass: 'reads' })).fullTimes.reads).toBe(at + amount);
  });
});

const hour = 60 * 60 * 1000;
const keyOf = (hash: string): IdempotencyKey => ({
  ...{ workspaceId: 'ws_1', hash, fingerprint: 'first request' },
  at: clock.now().getTime(),
});

describe('an idempotency key', () => {
  it('is free again 24 hours after its first request', async () => {
    const key = keyOf('expiring');
    await stores.idempotency.store(key, { is: 'batch', batchId: 'batch-1' });
    expect(await stores.idempotency.find({ ...key, at: key.at + 24 * hour - 1000 })).toBeDefined();
    const afterExpiry = { ...key, at: key.at + 24 * hour };
    expect(await stores.idempotency.find(afterExpiry)).toBeUndefined();
    expect(await stores.idempotency.store(afterExpiry, { is: 'batch', batchId: 'batch-2' })).toMatchObject({
      work: { batchId: 'batch-2' },
    });
  });

  it('is taken by one of many requests', async () => {
    const records = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        stores.idempotency.store(keyOf('raced'), { is: 'batch', batchId: `batch-${index}` }),
      ),
    );
    expect(records).toEqual(records.map(() => records[0]));
  });
});
