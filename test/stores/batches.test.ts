import { describe, expect, it } from 'vitest';
import { batchStatuses } from '#contract/batch-statuses.ts';
import type { Batch } from '#domain/batches/batch.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { openStores } from '#support/open-stores.ts';
import { sampleBatch, sampleRequest, sampleRequests } from '#support/sample-batches.ts';

const { stores, clock } = closeAfterTests(await openStores());
const { batches } = stores;

const newBatch = (changes: Partial<Batch> = {}): Batch => sampleBatch(clock.now(), changes);

async function create(changes: Partial<Batch> = {}): Promise<Batch> {
  const batch = newBatch(changes);
  expect(await batches.create(batch, sampleRequests(batch.total), null, null)).toBe('created');
  return batch;
}

const end = async (batch: Batch): Promise<void> => {
  const final = {
    ...({ status: 'completed', completed: batch.total, failed: 0, cancelledAt: null } as const),
    completedAt: clock.now().toISOString(),
  };
  expect(await batches.complete(batch, final, null)).toBe(true);
};

describe('a new batch', () => {
  it('is stored with everything that it has', async () => {
    const webhook = { events: ['completed' as const], target: 'encrypted' };
    const metadata = { import_run: '7', 'ключ 😀': '' };
    const batch = newBatch({ webhookEvents: webhook.events, metadata });
    await batches.create(batch, sampleRequests(3), webhook, null);
    expect(await batches.webhook(batch)).toEqual(webhook);
    for (const each of [batch, await create()])
      expect(await batches.get(each.workspaceId, each.id)).toEqual(each);
  });

  it('is created once, by one of many calls', async () => {
    const batch = newBatch();
    const outcomes = await Promise.all(
      Array.from({ length: 5 }, () => batches.create(batch, sampleRequests(3), null, null)),
    );
    expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(1);
    const cancelled = await batches.stop(batch, { reason: 'cancelled', at: clock.now().toISOString() });
    expect(await batches.create(batch, sampleRequests(3), null, null)).toBe('exists');
    expect(await batches.get(batch.workspaceId, batch.id)).toEqual(cancelled);
    expect(await batches.page(batch.workspaceId, {}, { limit: 10, offset: 0 })).toMatchObject({ total: 1 });
  });
});

describe('the limit of open batches', () => {
  it('is checked with the number of other open batches of the workspace', async () => {
    const { workspaceId } = await create();
    await create();
    const second = newBatch({ workspaceId });
    expect(await batches.create(second, sampleRequests(3), null, 1)).toBe('too-many');
    expect(await batches.get(workspaceId, second.id)).toBeUndefined();
    expect(await batches.create(second, sampleRequests(3), null, 2)).toBe('created');
    expect(await batches.countOpen(workspaceId)).toBe(2);
  });

  it('does not count the batch itself, nor batches that have ended', async () => {
    const first = await create();
    expect(await batches.create(first, sampleRequests(3), null, 1)).toBe('exists');
    await end(first);
    const second = newBatch({ workspaceId: first.workspaceId });
    expect(await batches.create(second, sampleRequests(3), null, 1)).toBe('created');
  });

  it('holds for calls at the same time', async () => {
    const workspaceId = newBatch().workspaceId;
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, () => batches.create(newBatch({ workspaceId }), sampleRequests(3), null, 2)),
    );
    expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(2);
    expect(await batches.countOpen(workspaceId)).toBe(2);
  });
});

describe('the requests of a batch', () => {
  it.each([1, 11, 1000])('are read in the order of the given positions: %i requests', async (total) => {
    const batch = await create({ total });
    const requests = sampleRequests(total);
    const positions = [...requests.keys()].reverse();
    expect(await batches.requests(batch, positions)).toEqual(requests.toReversed());
    expect(await batches.manifest(batch)).toEqual(
      requests.map(({ customId, historyId, next }) => ({ customId, historyId, next })),
    );
    expect(await batches.requests(batch, [total, total + 10])).toEqual([]);
  });

  it('have everything that the client sent', async () => {
    const requests = [
      sampleRequest(0, {
        ...{
          agentId: 'other agent',
          externalUserId: 'user',
          name: 'A name',
          attachedFileUuids: ['one', 'two'],
        },
        ...{ historyId: 7, next: 1 },
      }),
      sampleRequest(1, { historyId: 7, previous: 0, customId: 'ключ', message: '🙂' }),
    ];
    const batch = newBatch({ total: 2 });
    await batches.create(batch, requests, null, null);
    expect(await batches.requests(batch, [0, 1])).toEqual(requests);
    expect(await batches.manifest(batch)).toEqual([
      { customId: 'request 0', historyId: 7, next: 1 },
      { customId: 'ключ', historyId: 7, next: null },
    ]);
  });

  it('may have large texts and long custom ids', async () => {
    const requests = sampleRequests(450).map((request) => ({
      ...request,
      // A thousand bytes each: the manifest of 450 requests does not fit into one item.
      customId: `${request.requestIndex} ${'🙂'.repeat(250)}`,
      message: request.requestIndex < 4 ? 'ä'.repeat(128 * 1024) : request.message,
    }));
    const batch = newBatch({ total: 450 });
    await batches.create(batch, requests, null, null);
    const positions = [...requests.keys()];
    expect(await batches.requests(batch, positions)).toEqual(requests);
    expect((await batches.manifest(batch)).map(({ customId }) => customId)).toEqual(
      requests.map(({ customId }) => customId),
    );
  });
});

describe('the list of batches', () => {
  it('has each batch under its status', async () => {
    const { workspaceId } = newBatch();
    const at = clock.now().toISOString();
    const made: Batch[] = [];
    for (let count = 0; count < 5; count += 1) made.push(await create({ workspaceId }));
    const [completed, failed, cancelled, cancelling, in_progress] = made as [
      Batch,
      Batch,
      Batch,
      Batch,
      Batch,
    ];
    await end(completed);
    await batches.stop(failed, { reason: 'failed', at });
    const counts = { completed: 1, failed: 2 };
    await batches.complete(
      { ...failed, stop: { reason: 'failed', at } },
      { ...counts, status: 'failed', completedAt: at, cancelledAt: null },
      null,
    );
    const stopped = await batches.stop(cancelled, { reason: 'cancelled', at });
    await batches.complete(
      stopped ?? cancelled,
      { ...counts, status: 'cancelled', completedAt: null, cancelledAt: at },
      null,
    );
    await batches.stop(cancelling, { reason: 'cancelled', at });
    const expected = { in_progress, completed, failed, cancelling, cancelled };
    for (const status of batchStatuses) {
      const { total, batches: found } = await batches.page(workspaceId, { status }, { limit: 10, offset: 0 });
      expect([status, total, found.map(({ id }) => id)]).toEqual([status, 1, [expected[status].id]]);
      expect(found[0]?.status).toBe(status);
      expect(await batches.page(workspaceId, { status }, { limit: 10, offset: 1 })).toMatchObject({
        total: 1,
        batches: [],
      });
    }
    expect(await batches.countOpen(workspaceId)).toBe(2);
    expect((await batches.page(workspaceId, {}, { limit: 10, offset: 0 })).total).toBe(5);
  });

  it('has the batches of a final status in the order of their creation, and goes on where a page ended', async () => {
    const { workspaceId } = newBatch();
    const created: Batch[] = [];
    for (let index = 0; index < 5; index += 1) created.push(await create({ workspaceId, total: 1 }));
    for (const batch of created.slice(0, 4).toReversed()) await end(batch);
    const status = 'completed';
    const first = await batches.page(workspaceId, { status }, { limit: 2, offset: 0 });
    expect(first.batches.map(({ id }) => id)).toEqual([created[3]?.id, created[2]?.id]);
    // A newer one joins the list. The link of the first page shows the batches after it.
    await end(created[4] as Batch);
    const cursor = { isAfter: true, id: first.ends?.last ?? 0, offset: 2 };
    const second = await batches.page(workspaceId, { status }, { limit: 2, offset: 2, cursor });
    expect(second).toMatchObject({ total: 5, ends: { hasMore: false } });
    expect(second.batches.map(({ id }) => id)).toEqual([created[1]?.id, created[0]?.id]);
  });
});
