import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Batch } from '#domain/batches/batch.ts';
import type { WebhookEntry } from '#domain/batches/batch-store.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { openStores } from '#support/open-stores.ts';
import { sampleBatch, sampleDelivery, sampleRequests } from '#support/sample-batches.ts';

const { stores, clock } = closeAfterTests(await openStores());
const { batches } = stores;

const now = (): string => clock.now().toISOString();
const inSeconds = (seconds: number): string => new Date(clock.now().getTime() + seconds * 1000).toISOString();

async function create(): Promise<Batch> {
  const batch = sampleBatch(clock.now());
  await batches.create(batch, sampleRequests(1), null, null);
  return batch;
}

const putWebhook = (entry: WebhookEntry): Promise<void> =>
  stores.reconciliationIndex.moveWebhook({ ...entry, due: 'none' }, entry.due);

const final = () =>
  ({ status: 'completed', completed: 3, failed: 0, completedAt: now(), cancelledAt: null }) as const;

describe('the reconciliation index', () => {
  const openEntryOf = async ({ id }: Batch) =>
    (await stores.reconciliationIndex.openBatches()).find(({ batchId }) => batchId === id);
  const webhooksOf = async ({ workspaceId }: Batch) =>
    Array.fromAsync(stores.reconciliationIndex.webhooksDue(workspaceId, '2100'));

  it('has an open batch from its creation to its end', async () => {
    const batch = await create();
    const entry = { workspaceId: batch.workspaceId, batchId: batch.id };
    expect(await openEntryOf(batch)).toEqual(entry);
    await batches.topUp(batch, [1], clock.now().getTime());
    await batches.saveTaskToken(batch, 'token', now());
    await batches.incrementExecutionNumber(batch);
    await batches.stop(batch, { reason: 'expired', at: now() });
    const stopped = await batches.stop(batch, { reason: 'cancelled', at: now() });
    expect(await openEntryOf(batch)).toEqual(entry);
    expect(await batches.complete(stopped ?? batch, final(), null)).toBe(true);
    expect(await openEntryOf(batch)).toBeUndefined();
    expect(await webhooksOf(batch)).toEqual([]);
  });

  it('has the webhook of an ended batch, due at its first attempt', async () => {
    const batch = await create();
    await batches.complete(batch, final(), sampleDelivery(batch, now()));
    const { workspaceId, id: batchId } = batch;
    expect(await webhooksOf(batch)).toEqual([{ workspaceId, batchId, due: now() }]);
  });

  it('is not changed by a write whose condition does not hold', async () => {
    const batch = await create();
    await batches.stop(batch, { reason: 'cancelled', at: now() });
    expect(await batches.complete(batch, final(), sampleDelivery(batch, now()))).toBe(false);
    expect(await openEntryOf(batch)).toBeDefined();
    expect(await webhooksOf(batch)).toEqual([]);
  });

  it('may lose the entry of a batch that stays open', async () => {
    const batch = await create();
    await stores.reconciliationIndex.removeOpenBatch({ workspaceId: batch.workspaceId, batchId: batch.id });
    expect(await openEntryOf(batch)).toBeUndefined();
    expect(await batches.countOpen(batch.workspaceId)).toBe(1);
  });
});

describe('the index of undelivered webhooks', () => {
  const dueOf = async (workspaceId: string, until: string): Promise<[string, string][]> =>
    (await Array.fromAsync(stores.reconciliationIndex.webhooksDue(workspaceId, until))).map(
      ({ batchId, due }) => [batchId, due],
    );

  it('has the webhooks of a workspace that are due before a time, the earliest first', async () => {
    const workspaceId = `ws_${randomUUID()}`;
    const entries = [30, 10, 20, 10].map((seconds, index) => ({
      ...{ workspaceId, batchId: `batch-${index}`, due: inSeconds(seconds) },
    }));
    for (const entry of entries) await putWebhook(entry);
    await putWebhook({
      workspaceId: `${workspaceId}1`,
      batchId: 'other',
      due: inSeconds(0),
    });
    expect(await dueOf(workspaceId, inSeconds(30))).toEqual([
      ['batch-1', inSeconds(10)],
      ['batch-3', inSeconds(10)],
      ['batch-2', inSeconds(20)],
    ]);
    expect(await dueOf(workspaceId, inSeconds(10))).toEqual([]);
  });

  it('gives all entries of more than one page', async () => {
    const workspaceId = `ws_${randomUUID()}`;
    const ids = Array.from({ length: 70 }, (_, index) => `batch-${String(index).padStart(3, '0')}`);
    for (const batchId of ids) await putWebhook({ workspaceId, batchId, due: inSeconds(0) });
    expect((await dueOf(workspaceId, inSeconds(1))).map(([batchId]) => batchId)).toEqual(ids);
  });

  it('moves and removes an entry', async () => {
    const entry = { workspaceId: `ws_${randomUUID()}`, batchId: 'batch', due: inSeconds(10) };
    await putWebhook(entry);
    await stores.reconciliationIndex.moveWebhook(entry, inSeconds(20));
    expect(await dueOf(entry.workspaceId, '2100')).toEqual([['batch', inSeconds(20)]]);
    await stores.reconciliationIndex.removeWebhook(entry);
    expect(await dueOf(entry.workspaceId, '2100')).toEqual([['batch', inSeconds(20)]]);
    await stores.reconciliationIndex.removeWebhook({ ...entry, due: inSeconds(20) });
    expect(await dueOf(entry.workspaceId, '2100')).toEqual([]);
  });

  it('names each workspace once, also if the id of one starts with that of another', async () => {
    const first = `ws_${randomUUID()}`;
    const expected = [first, `${first}0`, `${first}1`];
    for (const workspaceId of expected.toReversed())
      for (const batchId of ['one', 'other']) await putWebhook({ workspaceId, batchId, due: inSeconds(10) });
    const named = await Array.fromAsync(stores.reconciliationIndex.workspacesWithWebhooks());
    expect(named.filter((workspaceId) => workspaceId.startsWith(first))).toEqual(expected);
    expect(named).toEqual(named.toSorted());
  });
});
