import { describe, expect, it } from 'vitest';
import type { Batch, BatchItem, BatchRequest } from '#domain/batches/batch.ts';
import type { ClaimedItem } from '#domain/batches/batch-transitions.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { openStores } from '#support/open-stores.ts';
import { firstClaim, sampleBatch, sampleRequests } from '#support/sample-batches.ts';

const { stores, clock } = closeAfterTests(await openStores());
const { batches } = stores;

const time = (): number => clock.now().getTime();
const now = (): string => clock.now().toISOString();
const lease = {
  milliseconds: 30_000,
  worker: 'worker',
  chat: { idOf: (requestIndex: number) => `batch:b:${requestIndex}`, milliseconds: 60_000 },
};

interface Created {
  batch: Batch;
  requests: BatchRequest[];
}

async function create(changes: Partial<Batch> = {}): Promise<Created> {
  const batch = sampleBatch(clock.now(), changes);
  const requests = sampleRequests(batch.total);
  await batches.create(batch, requests, null);
  return { batch, requests };
}

/** Claims requests that have no chat yet, or claims them once more, as they are now. */
async function claim(
  { batch, requests }: Created,
  requestIndexes: readonly number[],
): Promise<ClaimedItem[]> {
  const items = await batches.items(batch, requestIndexes);
  const claims = requestIndexes.map((requestIndex, index) => {
    const first = firstClaim(batch, requests[requestIndex] as BatchRequest);
    return items[index] === undefined ? first : { ...first, item: items[index], newChat: null };
  });
  return batches.claimItems(batch, claims, lease);
}

async function claimOne(created: Created): Promise<BatchItem> {
  const [claimed] = await claim(created, [0]);
  if (claimed === undefined) throw new Error('The request was not claimed');
  return claimed.item;
}

const itemAt = async ({ batch }: Created, requestIndex = 0): Promise<BatchItem | undefined> =>
  (await batches.items(batch, [requestIndex]))[0];

const ends = {
  success: { status: 'success', processedAt: '2027-01-31T13:00:00.000Z' },
  failed: {
    status: 'failed',
    error: { code: 500, message: 'Failed' },
    processedAt: '2027-01-31T13:00:00.000Z',
  },
} as const;

const countOf = async (workspaceId: string): Promise<number> =>
  (await stores.chats.page({ workspaceId }, { limit: 1, offset: 0, ascending: true })).total;

describe('a claim', () => {
  it('starts requests and creates their chats', async () => {
    const created = await create();
    const { batch, requests } = created;
    const claimed = await claim(created, [2, 0]);
    const expected = [2, 0].map((requestIndex, index): ClaimedItem => {
      const chat = {
        ...{ id: index + 1, workspaceId: batch.workspaceId, agentId: 'agent', externalUserId: null },
        ...{ name: `request ${requestIndex}`, createdAt: now(), updatedAt: now(), messageCount: 0 },
        lease: { id: `batch:b:${requestIndex}`, until: time() + 60_000 },
        batchId: 'b',
      };
      const item: BatchItem = {
        ...{ requestIndex, status: 'processing', attempt: 1, brokenReplies: 0, lostAttempts: 0 },
        ...{ leaseUntil: time() + 30_000, worker: 'worker', chatId: chat.id, messagePosition: 1 },
        ...{ error: null, incomplete: null, calls: [], processedAt: null },
      };
      return { request: requests[requestIndex] as BatchRequest, item, newChat: chat };
    });
    expect(claimed).toEqual(expected);
    expect(await batches.items(batch, [0, 1, 2])).toEqual([expected[1]?.item, undefined, expected[0]?.item]);
    const chats = await Promise.all([1, 2, 3].map((id) => stores.chats.get(batch.workspaceId, id)));
    expect(chats).toEqual([expected[0]?.newChat, expected[1]?.newChat, undefined]);
  });

  it('needs no chat for a request that continues a history', async () => {
    const created = await create();
    const [request] = created.requests as [BatchRequest];
    const [claimed] = await batches.claimItems(
      created.batch,
      [{ request, item: undefined, newChat: null }],
      lease,
    );
    expect(claimed).toMatchObject({ newChat: null, item: { chatId: null, messagePosition: null } });
    expect(await stores.chats.get(created.batch.workspaceId, 1)).toBeUndefined();
  });

  it('of nothing changes nothing', async () => {
    const created = await create();
    expect(await claim(created, [])).toEqual([]);
    expect(await batches.allItems(created.batch)).toEqual([]);
  });

  it('gets the requests that no other worker has, and creates no chat for the others', async () => {
    const created = await create({ total: 10 });
    const { batch, requests } = created;
    await claim(created, [1, 3]);
    const claims = requests.map((request) => firstClaim(batch, request));
    const claimed = await batches.claimItems(batch, claims, lease);
    expect(claimed.map(({ item }) => item.requestIndex)).toEqual([0, 2, 4, 5, 6, 7, 8, 9]);
    const [first = 0, ...others] = claimed.map(({ newChat }) => newChat?.id ?? 0);
    expect(others).toEqual(others.map((_, index) => first + 1 + index));
    expect(await countOf(batch.workspaceId)).toBe(10);
    expect(await batches.claimItems(batch, claims, lease)).toEqual([]);
  });

  it('gives each request to one of several workers', async () => {
    const { batch, requests } = await create({ total: 10 });
    const claims = requests.map((request) => firstClaim(batch, request));
    const claimed = (
      await Promise.all([
        batches.claimItems(batch, claims.slice(0, 6), lease),
        batches.claimItems(batch, claims.slice(4), lease),
        batches.claimItems(batch, claims.slice(2, 8), lease),
      ])
    ).flat();
    expect(claimed.map(({ item }) => item.requestIndex).sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(new Set(claimed.map(({ newChat }) => newChat?.id)).size).toBe(10);
    expect(await countOf(batch.workspaceId)).toBe(10);
  });

  it.each(['cancel', 'markExpired', 'markFailed'] as const)(
    'needs a batch without a stop: %s',
    async (stop) => {
      const created = await create();
      await batches[stop](created.batch, now());
      expect(await claim(created, [0])).toEqual([]);
      expect(await itemAt(created)).toBeUndefined();
      expect(await stores.chats.get(created.batch.workspaceId, 1)).toBeUndefined();
    },
  );

  it('needs a batch that has not expired', async () => {
    const expiresAt = (milliseconds: number) => new Date(time() + milliseconds).toISOString();
    expect(await claim(await create({ expiresAt: expiresAt(0) }), [0])).toEqual([]);
    expect(await claim(await create({ expiresAt: expiresAt(1) }), [0])).toHaveLength(1);
  });
});

describe('a second claim of a request', () => {
  it('needs an item lease that has expired, and counts a lost attempt', async () => {
    const created = await create();
    const first = await claimOne(created);
    expect(await claim(created, [0])).toEqual([]);
    await clock.advance(30_000);
    expect(await claim(created, [0])).toEqual([]);
    await clock.advance(1);
    const second = await claimOne(created);
    expect(second).toEqual({ ...first, attempt: 2, lostAttempts: 1, leaseUntil: time() + 30_000 });
    await clock.advance(30_001);
    expect(await claimOne(created)).toMatchObject({ attempt: 3, lostAttempts: 2 });
  });

  it('is possible while the request waits for a retry, and counts no lost attempt', async () => {
    const created = await create();
    const first = await claimOne(created);
    const waiting = { ...first, brokenReplies: 2, chatId: 7, messagePosition: 3 };
    expect(await batches.scheduleRetry(created.batch, waiting, time() + 5000)).toBe(true);
    expect(await claimOne(created)).toEqual({ ...waiting, attempt: 2, leaseUntil: time() + 30_000 });
  });

  it('needs the item that was read', async () => {
    const created = await create();
    const [request] = created.requests as [BatchRequest];
    const stale = await claimOne(created);
    await clock.advance(30_001);
    await claimOne(created);
    await clock.advance(30_001);
    const claimed = await batches.claimItems(created.batch, [{ request, item: stale, newChat: null }], lease);
    expect(claimed).toEqual([]);
    expect(await itemAt(created)).toMatchObject({ attempt: 2 });
  });

  it.each(['success', 'failed'] as const)('is impossible after its end: %s', async (status) => {
    const created = await create();
    await batches.finishItem(created.batch, { ...(await claimOne(created)), ...ends[status] });
    await clock.advance(60_000);
    expect(await claim(created, [0])).toEqual([]);
  });
});

describe('the lease of an item', () => {
  it('is renewed by the newest claim', async () => {
    const created = await create();
    const item = await claimOne(created);
    expect(await batches.renewItemLease(created.batch, item, time() + 40_000)).toBe(true);
    expect(await itemAt(created)).toEqual({ ...item, leaseUntil: time() + 40_000 });
    await clock.advance(35_000);
    expect(await claim(created, [0])).toEqual([]);
  });

  it('is renewed after it has expired, if nobody has claimed the request', async () => {
    const created = await create();
    const item = await claimOne(created);
    await clock.advance(30_001);
    expect(await batches.renewItemLease(created.batch, item, time() + 30_000)).toBe(true);
    expect(await claim(created, [0])).toEqual([]);
  });
});

/** The writes of the worker that owns an item. */
const ownersWrites: Record<string, (batch: Batch, item: BatchItem) => Promise<boolean>> = {
  renewItemLease: (batch, item) => batches.renewItemLease(batch, item, time() + 99_000),
  assignChat: (batch, item) => batches.assignChat(batch, { ...item, chatId: 5, messagePosition: 9 }),
  scheduleRetry: (batch, item) => batches.scheduleRetry(batch, item, time() + 99_000),
  finishItem: (batch, item) => batches.finishItem(batch, { ...item, ...ends.success }),
};

describe.each(Object.entries(ownersWrites))('%s', (name, write) => {
  it('needs the newest claim', async () => {
    const created = await create();
    const lost = await claimOne(created);
    await clock.advance(30_001);
    const current = await claimOne(created);
    expect(await write(created.batch, lost)).toBe(false);
    expect(await itemAt(created)).toEqual(current);
    expect(await write(created.batch, current)).toBe(true);
    expect(await itemAt(created)).not.toEqual(current);
  });

  it.each(['success', 'failed'] as const)('does not change an item that has ended: %s', async (status) => {
    const created = await create();
    const item = await claimOne(created);
    const ended = { ...item, ...ends[status] };
    await batches.finishItem(created.batch, ended);
    // The same end once more is the write whose response was lost.
    expect(await write(created.batch, item)).toBe(name === 'finishItem' && status === 'success');
    expect(await itemAt(created)).toEqual(ended);
  });

  it('is possible after a stop: requests in work end normally', async () => {
    const created = await create();
    const item = await claimOne(created);
    await batches.cancel(created.batch, now());
    expect(await write(created.batch, item)).toBe(true);
  });

  it('needs an item', async () => {
    const created = await create();
    const item = await claimOne(created);
    expect(await write(created.batch, { ...item, requestIndex: 1 })).toBe(false);
    expect(await itemAt(created, 1)).toBeUndefined();
  });
});

describe('what is stored with an item', () => {
  it('is its chat and the position of its message', async () => {
    const created = await create();
    const assigned = { ...(await claimOne(created)), chatId: 12, messagePosition: 7 };
    expect(await batches.assignChat(created.batch, assigned)).toBe(true);
    expect(await itemAt(created)).toEqual(assigned);
  });

  it('is the time of its retry, and its broken replies', async () => {
    const created = await create();
    const item = { ...(await claimOne(created)), brokenReplies: 1, messagePosition: null };
    expect(await batches.scheduleRetry(created.batch, item, time() + 7000)).toBe(true);
    expect(await itemAt(created)).toEqual({ ...item, status: 'waiting', leaseUntil: time() + 7000 });
    // A repeated call is the write whose response was lost.
    expect(await batches.scheduleRetry(created.batch, item, time() + 7000)).toBe(true);
    expect(await batches.finishItem(created.batch, { ...item, ...ends.success })).toBe(false);
  });

  it.each(['success', 'failed'] as const)('is its end: %s', async (status) => {
    const created = await create();
    const ended: BatchItem = {
      ...(await claimOne(created)),
      ...ends[status],
      ...(status === 'success' && { incomplete: 'max_output_tokens', calls: [['model', 'chat', 10, 20]] }),
    };
    expect(await batches.finishItem(created.batch, ended)).toBe(true);
    expect(await itemAt(created)).toEqual(ended);
    expect(await batches.finishItem(created.batch, ended)).toBe(true);
    const other = { ...ended, ...ends[status === 'success' ? 'failed' : 'success'] };
    expect(await batches.finishItem(created.batch, other)).toBe(false);
    expect(await itemAt(created)).toEqual(ended);
  });

  it('is read of all requests together', async () => {
    const created = await create({ total: 30 });
    await claim(created, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    await claim(created, [21, 29]);
    const items = await batches.allItems(created.batch);
    const requestIndexes = items.map(({ requestIndex }) => requestIndex).sort((one, other) => one - other);
    expect(requestIndexes).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 21, 29]);
    expect(await batches.items(created.batch, requestIndexes)).toEqual(
      items.toSorted((one, other) => one.requestIndex - other.requestIndex),
    );
  });
});

describe('failAbandonedItem', () => {
  it('needs a lease that expired before the given time', async () => {
    const created = await create();
    const item = await claimOne(created);
    const failed: BatchItem = { ...item, ...ends.failed };
    expect(await batches.failAbandonedItem(created.batch, failed, item.leaseUntil)).toBe(false);
    expect(await itemAt(created)).toEqual(item);
    expect(await batches.failAbandonedItem(created.batch, failed, item.leaseUntil + 1)).toBe(true);
    expect(await itemAt(created)).toEqual(failed);
  });

  it('sees a lease that was renewed after the item was read', async () => {
    const created = await create();
    const item = await claimOne(created);
    await batches.renewItemLease(created.batch, item, time() + 90_000);
    const failed: BatchItem = { ...item, ...ends.failed };
    expect(await batches.failAbandonedItem(created.batch, failed, time() + 60_000)).toBe(false);
    expect(await itemAt(created)).toMatchObject({ status: 'processing' });
  });

  it('needs the newest claim, of an item that is processing', async () => {
    const created = await create();
    const lost = await claimOne(created);
    await clock.advance(30_001);
    const current = await claimOne(created);
    const fail = (item: BatchItem) =>
      batches.failAbandonedItem(created.batch, { ...item, ...ends.failed }, Number.MAX_SAFE_INTEGER);
    expect(await fail(lost)).toBe(false);
    await batches.scheduleRetry(created.batch, current, time());
    expect(await fail(current)).toBe(false);
    const third = await claimOne(created);
    await batches.finishItem(created.batch, { ...third, ...ends.success });
    expect(await fail(third)).toBe(false);
    expect(await itemAt(created)).toMatchObject({ status: 'success' });
  });
});
