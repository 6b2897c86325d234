import { describe, expect, it } from 'vitest';
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
  });

  it('needs a delivery', async () => {
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

  it('does nothing if an attempt has started meanwhile', async () => {
    const delivery = await deliveryOf();
    const started = await start(delivery);
    await deliveries.exhaust(delivery);
    expect(await deliveries.get(delivery)).toEqual(started.delivery);
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

  it('does nothing if an attempt has started since the delivery was read', async () => {
    const delivery = await deliveryOf();
    const started = await start(delivery);
    expect(await deliveries.restart(delivery, inSeconds(1))).toBeUndefined();
    expect(await deliveries.get(delivery)).toEqual(started.delivery);
  });
});

describe('the attempts of a delivery', () => {
  it('are listed in the order of their numbers', async () => {
    let delivery = await deliveryOf();
    for (let index = 0; index < 12; index += 1) ({ delivery } = await start(delivery));
    const attempts = await deliveries.attempts(delivery);
    expect(attempts.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  });
});

describe('a replaced webhook', () => {
  const former = { events: ['failed' as const], url: 'https://example.com', secret: 'encrypted' };
  const replacement = { events: ['failed' as const], target: 'encrypted with another secret' };

  it('is that of all further attempts, and is in the audit log without a value', async () => {
    const delivery = await deliveryOf(former);
    expect(await deliveries.replaceWebhook(delivery, former, replacement)).toBe(true);
    expect(await stores.webhookSource.get(delivery)).toEqual(replacement);
    expect(await deliveries.get(delivery)).toEqual(delivery);
    expect(await auditEntriesOf(stores.auditLog, delivery.workspaceId)).toMatchObject([
      { actor: 'tester', action: 'webhook secret replaced', target: delivery.batchId, changes: {} },
    ]);
  });

  it('is not replaced by a caller who read it before another one replaced it', async () => {
    const delivery = await deliveryOf(former);
    const other = { ...replacement, target: 'that of another caller' };
    expect(await deliveries.replaceWebhook(delivery, former, other)).toBe(true);
    expect(await deliveries.replaceWebhook(delivery, former, replacement)).toBe(false);
    expect(await stores.webhookSource.get(delivery)).toEqual(other);
    expect(await auditEntriesOf(stores.auditLog, delivery.workspaceId)).toHaveLength(1);
  });
});

describe('the source of webhooks', () => {
  it('has the webhook of a batch, if it has one', async () => {
    const webhook = { events: ['failed' as const], target: 'encrypted' };
    const former = { events: ['failed' as const], url: 'https://example.com', secret: null };
    for (const each of [webhook, former])
      expect(await stores.webhookSource.get(await deliveryOf(each))).toEqual(each);
    expect(await stores.webhookSource.get(await deliveryOf())).toBeUndefined();
    expect(await stores.webhookSource.get({ workspaceId: 'ws_1', batchId: 'missing' })).toBeUndefined();
  });
});
