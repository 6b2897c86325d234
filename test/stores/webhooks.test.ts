import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Batch } from '#domain/batches/batch.ts';
import type { WebhookEntry } from '#domain/batches/batch-store.ts';
import type { DeliveryAttempt, Webhook, WebhookDelivery } from '#domain/webhooks/webhook.ts';
import { auditEntriesOf } from '#support/audit-entries.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { openStores } from '#support/open-stores.ts';
import { sampleBatch, sampleDelivery, sampleRequests } from '#support/sample-batches.ts';

const { stores, clock } = closeAfterTests(await openStores());
const { deliveries } = stores;

const inSeconds = (seconds: number): string => new Date(clock.now().getTime() + seconds * 1000).toISOString();

/** A batch that has ended, with the delivery of its event. */
async function deliveryOf(webhook: Webhook | null = null): Promise<WebhookDelivery> {
  const batch = sampleBatch(clock.now(), { total: 1 });
  await stores.batches.create(batch, sampleRequests(1), webhook, null);
  const delivery = sampleDelivery(batch, inSeconds(0));
  const ended = { completed: 1, failed: 0, completedAt: inSeconds(0), cancelledAt: null };
  await stores.batches.complete(batch, { ...ended, status: 'completed' }, delivery);
  return delivery;
}

const times = () => ({ at: inSeconds(0), nextAt: inSeconds(35) });

async function start(delivery: WebhookDelivery) {
  const started = await deliveries.start(delivery, times());
  if (started === undefined) throw new Error('The attempt was not started');
  return started;
}

describe('the start of an attempt', () => {
  it('counts it and stores it before it is made', async () => {
    const delivery = await deliveryOf();
    const started = await deliveries.start(delivery, times());
    const attempt: DeliveryAttempt = {
      ...{ number: 1, round: 1, at: inSeconds(0), duration: null, status: null, failure: null },
    };
    expect(started).toEqual({
      delivery: { ...delivery, attempts: 1, allAttempts: 1, nextAt: inSeconds(35) },
      attempt,
    });
    expect(await deliveries.get(delivery)).toEqual(started?.delivery);
    expect(await deliveries.attempts(delivery)).toEqual([attempt]);
  });

  it('is made by one of several callers', async () => {
    const delivery = await deliveryOf();
    const started = await Promise.all([
      deliveries.start(delivery, times()),
      deliveries.start(delivery, times()),
      deliveries.start(delivery, times()),
    ]);
    expect(started.filter((each) => each !== undefined)).toHaveLength(1);
    expect(await deliveries.attempts(delivery)).toHaveLength(1);
  });

  it('needs a delivery that has not ended since it was read', async () => {
    const delivery = await deliveryOf();
    await deliveries.exhaust(delivery);
    expect(await deliveries.start(delivery, times())).toBeUndefined();
    expect(await deliveries.attempts(delivery)).toEqual([]);
    const missing = sampleDelivery({ workspaceId: 'ws_1', id: 'missing' }, inSeconds(0));
    expect(await deliveries.get(missing)).toBeUndefined();
    expect(await deliveries.start(missing, times())).toBeUndefined();
    expect(await deliveries.attempts(missing)).toEqual([]);
  });
});

describe('the end of an attempt', () => {
  const failed = { duration: 120, status: 500, failure: null };

  it.each([
    ['pending', { state: 'pending', nextAt: '2027-02-01T00:00:00.000Z' }],
    ['delivered', { state: 'delivered', nextAt: '2027-01-31T12:00:00.000Z' }],
    ['gone', { state: 'gone', nextAt: '2027-01-31T12:00:00.000Z' }],
    ['exhausted', { state: 'exhausted', nextAt: '2027-01-31T12:00:00.000Z' }],
  ] as const)('changes the delivery: %s', async (_, next) => {
    const started = await start(await deliveryOf());
    await deliveries.end(started.delivery, { ...started.attempt, ...failed }, next);
    expect(await deliveries.get(started.delivery)).toEqual({ ...started.delivery, ...next });
    expect(await deliveries.attempts(started.delivery)).toEqual([{ ...started.attempt, ...failed }]);
  });

  it('stores a failure without a response', async () => {
    const started = await start(await deliveryOf());
    const ended = { ...started.attempt, duration: 15_000, failure: 'It took too long' };
    await deliveries.end(started.delivery, ended, { state: 'pending', nextAt: inSeconds(5) });
    expect(await deliveries.attempts(started.delivery)).toEqual([ended]);
  });

  it('changes only the attempt if another one has started', async () => {
    const one = await start(await deliveryOf());
    const other = await start(one.delivery);
    const delivered = { state: 'delivered', nextAt: inSeconds(0) } as const;
    await deliveries.end(one.delivery, { ...one.attempt, ...failed }, delivered);
    expect(await deliveries.get(one.delivery)).toEqual(other.delivery);
    expect(await deliveries.attempts(one.delivery)).toEqual([{ ...one.attempt, ...failed }, other.attempt]);
  });

  it('changes only the attempt if the delivery was restarted', async () => {
    const started = await start(await deliveryOf());
    const restarted = await deliveries.restart(started.delivery, inSeconds(1));
    const next = { state: 'exhausted', nextAt: inSeconds(0) } as const;
    await deliveries.end(started.delivery, { ...started.attempt, ...failed }, next);
    expect(await deliveries.get(started.delivery)).toEqual(restarted);
    expect(await deliveries.attempts(started.delivery)).toEqual([{ ...started.attempt, ...failed }]);
  });
});

describe('exhaust', () => {
  it('ends the delivery as it was read', async () => {
    const { delivery } = await start(await deliveryOf());
    await deliveries.exhaust(delivery);
    expect(await deliveries.get(delivery)).toEqual({ ...delivery, state: 'exhausted' });
  });
});

describe('restart', () => {
  it('starts a new round, and puts the delivery into the index of the reconciler', async () => {
    const { delivery, attempt } = await start(await deliveryOf());
    await deliveries.end(delivery, attempt, { state: 'gone', nextAt: inSeconds(0) });
    const at = inSeconds(600);
    const restarted = await deliveries.restart({ ...delivery, state: 'gone' }, at);
    expect(restarted).toEqual({ ...delivery, state: 'pending', round: 2, attempts: 0, nextAt: at });
    expect(await deliveries.get(delivery)).toEqual(restarted);
    const second = await start(restarted as WebhookDelivery);
    expect(second.attempt).toMatchObject({ number: 2, round: 2 });
    expect(second.delivery).toMatchObject({ attempts: 1, allAttempts: 2 });
    const due = stores.reconciliationIndex.webhooksDue(delivery.workspaceId, inSeconds(601));
    expect((await Array.fromAsync(due)).map((entry) => entry.due)).toEqual([inSeconds(0), at]);
  });

  it('is made by one of two callers', async () => {
    const delivery = await deliveryOf();
    const outcomes = await Promise.all([
      deliveries.restart(delivery, inSeconds(1)),
      deliveries.restart(delivery, inSeconds(2)),
    ]);
    expect(outcomes.filter((each) => each !== undefined)).toHaveLength(1);
    expect(await deliveries.get(delivery)).toMatchObject({ round: 2 });
    // Only the restart that was made is in the audit log.
    expect(await auditEntriesOf(stores.auditLog, delivery.workspaceId)).toMatchObject([
      { actor: 'tester', action: 'webhook resent', target: delivery.batchId, changes: { round: 2 } },
    ]);
  });

  it('does nothing if an attempt has started since the delivery was read, nor does the exhaustion', async () => {
    const delivery = await deliveryOf();
    const started = await start(delivery);
    expect(await deliveries.restart(delivery, inSeconds(1))).toBeUndefined();
    await deliveries.exhaust(delivery);
    expect(await deliveries.get(delivery)).toEqual(started.delivery);
  });
});

it('the attempts of a delivery are listed in the order of their numbers', async () => {
  let delivery = await deliveryOf();
  for (let index = 0; index < 12; index += 1) ({ delivery } = await start(delivery));
  const attempts = await deliveries.attempts(delivery);
  expect(attempts.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
});

const former = { events: ['failed' as const], url: 'https://example.com', secret: 'encrypted' };
const replacement = { events: ['failed' as const], target: 'encrypted with another secret' };

it('a replaced webhook is not replaced by a caller who read it before another one replaced it', async () => {
  const delivery = await deliveryOf(former);
  const other = { ...replacement, target: 'that of another caller' };
  expect(await deliveries.replaceWebhook(delivery, former, other)).toBe(true);
  expect(await deliveries.replaceWebhook(delivery, former, replacement)).toBe(false);
  expect(await stores.webhookSource.get(delivery)).toEqual(other);
  expect(await auditEntriesOf(stores.auditLog, delivery.workspaceId)).toHaveLength(1);
});

it('the source of webhooks has the webhook of a batch, if it has one', async () => {
  const webhook = { events: ['failed' as const], target: 'encrypted' };
  const former = { events: ['failed' as const], url: 'https://example.com', secret: null };
  for (const each of [webhook, former])
    expect(await stores.webhookSource.get(await deliveryOf(each))).toEqual(each);
  expect(await stores.webhookSource.get(await deliveryOf())).toBeUndefined();
  expect(await stores.webhookSource.get({ workspaceId: 'ws_1', batchId: 'missing' })).toBeUndefined();
});

const { batches } = stores;

const now = (): string => clock.now().toISOString();
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
