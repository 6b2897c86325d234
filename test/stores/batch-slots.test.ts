import { describe, expect, it } from 'vitest';
import type { Batch } from '#domain/batches/batch.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { openStores } from '#support/open-stores.ts';
import {
  firstClaim,
  sampleBatch,
  sampleItem,
  sampleRequest,
  sampleRequests,
} from '#support/sample-batches.ts';

const { stores, clock } = closeAfterTests(await openStores());
const { batches } = stores;

const now = (): number => clock.now().getTime();
const at = (): string => clock.now().toISOString();
const lease = { idOf: (requestIndex: number) => `batch:id:${requestIndex}`, until: now() + 270_000 };

async function create(total = 45): Promise<Batch> {
  const batch = sampleBatch(clock.now(), { total });
  await batches.create(batch, sampleRequests(total), null, null);
  return batch;
}

const read = async ({ workspaceId, id }: Batch): Promise<Batch> =>
  (await batches.get(workspaceId, id)) as Batch;

const owner = (name = 'worker') => ({ name, until: now() + 30_000 });

/** A batch with an owner of its first slot. */
async function owned(total = 45) {
  const made = (await batches.topUp(await create(total), [1], now() + 60_000)) as Batch;
  const acquired = await batches.acquire(made, { number: 1, epoch: 0 }, owner());
  if (acquired === undefined) throw new Error('The slot was not acquired');
  return acquired;
}

describe('topUp', () => {
  it('makes slots with epochs that no other slot ever has, and is done by one of two callers', async () => {
    const batch = await create();
    const outcomes = await Promise.all([
      batches.topUp(batch, [1, 2], now() + 60_000),
      batches.topUp(batch, [1, 2], now() + 61_000),
    ]);
    const [made] = outcomes.filter((outcome) => outcome !== undefined);
    expect(outcomes).toContain(undefined);
    expect(made).toMatchObject({ slotsMade: 2, slots: { 1: { epoch: 0 }, 2: { epoch: 1_000_000 } } });
    expect(await read(batch)).toEqual(made);
  });

  it('renews a silent slot, unless it was acquired or removed meanwhile', async () => {
    const batch = (await batches.topUp(await create(), [1], now() + 60_000)) as Batch;
    const until = now() + 90_000;
    const renewed = { slotsMade: 1, slots: { 1: { epoch: 0, until } } };
    // A repeated write is done.
    for (let write = 1; write <= 2; write += 1)
      expect(await batches.topUp(batch, [1], until)).toMatchObject(renewed);
    expect(await batches.topUp(batch, [1], now() + 95_000)).toBeUndefined();
    const { slot } = (await batches.acquire(batch, { number: 1, epoch: 0 }, owner())) ?? {};
    const current = await read(batch);
    if (slot !== undefined) await batches.retire(batch, slot);
    expect(await batches.topUp(current, [1], now() + 99_000)).toBeUndefined();
  });

  it('takes a silent slot from its owner, once for a repeated write', async () => {
    const { batch, slot } = await owned();
    const until = now() + 90_000;
    const offered = { slots: { 1: { epoch: 2, owner: null, isClean: false, until } } };
    for (let write = 1; write <= 2; write += 1)
      expect(await batches.topUp(batch, [1], until)).toMatchObject(offered);
    expect(await batches.renew(batch, slot, now() + 99_000)).toBeUndefined();
    expect(await batches.acquire(batch, { number: 1, epoch: 1 }, owner())).toBeUndefined();
    expect(await batches.acquire(batch, { number: 1, epoch: 2 }, owner())).toMatchObject({
      ...{ slot: { number: 1, epoch: 3 }, wasClean: false },
    });
  });
});

describe('a slot', () => {
  it('has one owner: of several callers, and not of an old message', async () => {
    const batch = (await batches.topUp(await create(), [1], now() + 60_000)) as Batch;
    const offered = { number: 1, epoch: 0 };
    const outcomes = await Promise.all(
      ['one', 'other'].map((name) => batches.acquire(batch, offered, owner(name))),
    );
    expect(outcomes.filter((outcome) => outcome === undefined)).toHaveLength(1);
    expect(await batches.acquire(batch, offered, owner('third'))).toBeUndefined();
    expect(outcomes.find((outcome) => outcome !== undefined)).toMatchObject({
      ...{ slot: { number: 1, epoch: 1 }, wasClean: true },
      batch: { slots: { 1: { epoch: 1, takes: 0, until: now() + 30_000, isClean: false } } },
    });
  });

  it('of a repeated write is its writer’s, which cannot know whether it was clean', async () => {
    const batch = (await batches.topUp(await create(), [1], now() + 60_000)) as Batch;
    await batches.acquire(batch, { number: 1, epoch: 0 }, owner());
    const again = await batches.acquire(batch, { number: 1, epoch: 0 }, owner());
    expect(again).toMatchObject({ slot: { number: 1, epoch: 1 }, wasClean: false });
  });

  it('takes new requests and names others, once for a repeated write', async () => {
    const { batch, slot } = await owned();
    const take = () => batches.take(batch, { ...slot, takes: 0 }, { size: 20, named: { 3: 2 } });
    const taken = await take();
    expect(taken).toMatchObject({
      next: 20,
      slots: { 1: { first: 0, size: 20, named: { 3: 2 }, takes: 1 } },
    });
    expect(await take()).toEqual(taken);
    expect(await batches.take(batch, { ...slot, takes: 1 }, { size: 30, named: {} })).toMatchObject({
      next: 50,
      slots: { 1: { first: 20, size: 30, named: {} } },
    });
  });

  it.each(['cancelled', 'expired', 'failed'] as const)('takes nothing of a %s batch', async (reason) => {
    const { batch, slot } = await owned();
    await batches.stop(batch, { reason, at: at() });
    expect(await batches.take(batch, { ...slot, takes: 0 }, { size: 10, named: {} })).toBeUndefined();
    expect(await batches.renew(batch, slot, now() + 5000)).toMatchObject({ stop: { reason } });
  });

  it('is passed on, and then only the next owner may change it', async () => {
    const { batch, slot } = await owned();
    const offer = { until: now() + 60_000, isClean: true };
    expect(await batches.pass(batch, slot, offer)).toMatchObject({
      slots: { 1: { owner: null, isClean: true, until: offer.until } },
    });
    const next = await batches.acquire(batch, slot, owner('next'));
    expect(next).toMatchObject({ slot: { number: 1, epoch: 2 }, wasClean: true });
    for (const change of [
      batches.take(batch, { ...slot, takes: 0 }, { size: 10, named: {} }),
      batches.renew(batch, slot, now()),
      batches.pass(batch, slot, offer),
      batches.retire(batch, slot),
    ])
      expect(await change).toBeUndefined();
    expect(await batches.retire(batch, next?.slot ?? slot)).toMatchObject({ slots: {} });
    // A repeated write.
    expect(await batches.retire(batch, next?.slot ?? slot)).toMatchObject({ slots: {} });
  });
});

it('a stop has the reason that came first, and a repeated write is done', async () => {
  const batch = await create();
  const expired = { reason: 'expired', at: at() } as const;
  expect(await batches.stop(batch, expired)).toEqual({ ...batch, stop: expired });
  expect(await batches.stop(batch, expired)).toEqual({ ...batch, stop: expired });
  await clock.advance(1000);
  expect(await batches.stop(batch, { reason: 'failed', at: at() })).toBeUndefined();
  const cancel = { reason: 'cancelled', at: at() } as const;
  expect(await batches.stop(batch, cancel)).toEqual({ ...batch, status: 'cancelling', stop: expired });
  expect(await batches.stop(batch, cancel)).toBeUndefined();
});

it('a task token is never replaced by an older one', async () => {
  const batch = await create();
  expect(await batches.taskToken(batch)).toBeUndefined();
  for (const token of ['02', '01', '03']) await batches.saveTaskToken(batch, token, `2027-01-${token}`);
  expect(await batches.taskToken(batch)).toBe('03');
});

describe('the end of a batch', () => {
  const final = { status: 'completed', completed: 44, failed: 1, cancelledAt: null } as const;

  it('comes once, and removes its slots', async () => {
    const { batch } = await owned();
    const outcomes = await Promise.all(
      Array.from({ length: 3 }, () => batches.complete(batch, { ...final, completedAt: at() }, null)),
    );
    expect(outcomes.filter(Boolean)).toHaveLength(1);
    expect(await read(batch)).toMatchObject({ ...final, completedAt: at(), slots: {} });
    expect(await batches.acquire(batch, { number: 1, epoch: 1 }, owner())).toBeUndefined();
    expect(await batches.topUp(batch, [2], now() + 60_000)).toBeUndefined();
  });

  it('needs the status that was read', async () => {
    const batch = await create();
    await batches.stop(batch, { reason: 'cancelled', at: at() });
    expect(await batches.complete(batch, { ...final, completedAt: at() }, null)).toBe(false);
  });
});

describe('items', () => {
  it('are claimed once, with the chats that they need', async () => {
    const batch = await create();
    const claims = [0, 1, 2].map((index) => firstClaim(batch, sampleRequest(index)));
    const [one] = await batches.claim(batch, claims.slice(1, 2), lease);
    const others = await batches.claim(batch, claims, lease);
    expect(others.map(({ item }) => item.requestIndex)).toEqual([0, 2]);
    expect(await batches.claim(batch, claims, lease)).toEqual([]);
    const items = (await batches.allItems(batch)).sort((a, b) => a.requestIndex - b.requestIndex);
    expect(items).toEqual([others[0]?.item, one?.item, others[1]?.item]);
    expect(await stores.chats.get(batch.workspaceId, one?.item.chatId ?? 0)).toEqual(one?.newChat);
    expect(one?.newChat).toMatchObject({ lease: { id: 'batch:id:1' }, batchId: 'id' });
  });

  it('of a hundred users are claimed in several transactions', async () => {
    const batch = await create(60);
    const claims = Array.from({ length: 60 }, (_, index) =>
      firstClaim(batch, sampleRequest(index, { externalUserId: `user ${index}` })),
    );
    expect(await batches.claim(batch, claims, lease)).toHaveLength(60);
    expect(await batches.allItems(batch)).toHaveLength(60);
  });

  it('with forty chats are found by the link of any page', async () => {
    const batch = await create(40);
    const claims = Array.from({ length: 40 }, (_, index) => firstClaim(batch, sampleRequest(index)));
    const claimed = await batches.claim(batch, claims, lease);
    const ids = claimed.map(({ newChat }) => newChat?.id ?? 0).sort((one, other) => one - other);
    expect(new Set(ids).size).toBe(40);
    for (const [index, id] of ids.entries()) {
      const cursor = { isAfter: true, id, offset: index + 1 };
      const page = { limit: 100, offset: index + 1, ascending: true, cursor };
      const { chats } = await stores.chats.page({ workspaceId: batch.workspaceId }, page);
      expect(chats.map((chat) => chat.id)).toEqual(ids.slice(index + 1));
    }
  });

  it('are replaced if they are as they were read; a repeated write is done', async () => {
    const batch = await create();
    const item = sampleItem(7);
    expect(await batches.replaceItem(batch, undefined, item)).toBe(true);
    expect(await batches.item(batch, 7)).toEqual(item);
    const waiting = sampleItem(7, { status: 'waiting', due: 17, brokenReplies: 1, chatId: 3 });
    expect(await batches.replaceItem(batch, item, waiting)).toBe(true);
    expect(await batches.replaceItem(batch, item, waiting)).toBe(true);
    expect(await batches.item(batch, 7)).toEqual(waiting);
    const taken = sampleItem(7, { epoch: 2, attempt: 2, lostAttempts: 1 });
    for (const other of [{ ...waiting, attempt: 2 }, item, undefined])
      expect(await batches.replaceItem(batch, other, taken)).toBe(false);
    expect(await batches.replaceItem(batch, waiting, taken)).toBe(true);
    // Writes of another owner, and of another status, are no repeated ones.
    for (const other of [
      { ...taken, epoch: 1 },
      { ...taken, status: 'failed' as const },
    ])
      expect(await batches.replaceItem(batch, waiting, other)).toBe(false);
    expect(await batches.replaceItem(batch, item, { ...item, status: 'failed' })).toBe(false);
    expect(await batches.item(batch, 8)).toBeUndefined();
  });
});
