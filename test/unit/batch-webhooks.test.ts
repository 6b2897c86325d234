import { describe, expect, it } from 'vitest';
import type { Batch } from '#domain/batches/batch.ts';
import { cancelBatch } from '#domain/batches/batches.ts';
import { replaceWebhookSecret } from '#domain/webhooks/deliver-webhook.ts';
import { type EncryptedWebhook, isRightSignature, type Webhook } from '#domain/webhooks/webhook.ts';
import { type BatchWorld, batchWorld } from '#support/batch-world/batch-world.ts';

const url = 'https://example.com/hook';
type Events = ('completed' | 'failed' | 'cancelled')[];

const createWith = (world: BatchWorld, events: Events, secret?: string): Promise<Batch> =>
  world.create(1, { webhook: { url, events, ...(secret !== undefined && { secret }) } });

const ownerOf = ({ workspaceId, id }: Batch) => ({ workspaceId, batchId: id });

const deliveryOf = async (world: BatchWorld, batch: Batch) => {
  const delivery = await world.stores.deliveries.get(ownerOf(batch));
  if (delivery === undefined) throw new Error('The delivery is missing');
  return delivery;
};

const untilState = (world: BatchWorld, batch: Batch, state: string, hours = 40) =>
  world.runUntil(async () => (await world.stores.deliveries.get(ownerOf(batch)))?.state === state, hours);

/** Seconds between the calls. */
const waits = ({ state: { calls } }: BatchWorld): number[] =>
  calls.slice(1).map(({ at }, index) => (at - (calls[index]?.at ?? 0)) / 1000);

const failing = { status: 500, retryAfter: null };

it('waits for its turn without an attempt, if its receiver has failed before and its workspace has its share', async () => {
  const world = batchWorld();
  world.state.hasWebhookSlot = false;
  world.state.receive = () => failing;
  const batch = await createWith(world, ['completed']);
  await world.runUntil(async () => world.state.calls.length === 1, 1);
  await world.runUntil(async () => false, 2).catch(() => undefined);
  expect(world.state.calls).toHaveLength(1);
  expect(await deliveryOf(world, batch)).toMatchObject({ state: 'pending', attempts: 1 });
  world.state.hasWebhookSlot = true;
  await untilState(world, batch, 'exhausted');
  expect(world.state.calls).toHaveLength(8);
});

it.each(['plain secret', null])(
  'an event of a version that encrypted no address, with secret %s',
  async (secret) => {
    const world = batchWorld();
    const batch = await createWith(world, ['completed']);
    const webhook = await world.stores.webhookSource.get(ownerOf(batch));
    const url = 'https://example.com/former';
    const stored = { events: ['completed' as const], url, secret: secret && `${secret} of ${batch.id}` };
    const rewritten = stored as unknown as EncryptedWebhook;
    expect(await world.stores.deliveries.replaceWebhook(ownerOf(batch), webhook as Webhook, rewritten)).toBe(
      true,
    );
    await world.run();
    const [call] = world.state.calls;
    expect(call?.url).toBe(url);
    const isSigned = isRightSignature(call?.headers['X-Service-Signature'] ?? '', {
      ...{ secret: secret ?? '', timestamp: call?.headers['X-Service-Timestamp'] ?? '' },
      body: call?.body ?? '',
    });
    expect(isSigned).toBe(secret !== null);

    // The new version's form replaces it as soon as an operator gives it another secret.
    const { deliveries, webhookSource } = world.stores;
    const services = { deliveries, webhookSource, secretCipher: world.services.secretCipher };
    await replaceWebhookSecret(services, ownerOf(batch), 'new');
    expect(await webhookSource.get(ownerOf(batch))).toEqual({
      events: ['completed'],
      target: `${JSON.stringify({ url, secrets: ['new', ...(secret === null ? [] : [secret])] })} of ${batch.id}`,
    });
  },
);

const ends = {
  completed: (world: BatchWorld) => world.run(),
  failed: (world: BatchWorld, batch: Batch) => world.functions.fail(ownerOf(batch)),
  cancelled: (world: BatchWorld, { id }: Batch) =>
    cancelBatch(world.services, 'ws_1', id, async () => undefined),
};

it.each(['completed', 'failed', 'cancelled'] as const)(
  'the event of a %s batch is sent if its webhook names it',
  async (status) => {
    for (const event of ['completed', 'failed', 'cancelled'] as const) {
      const world = batchWorld();
      const batch = await createWith(world, [event]);
      await world.clock.advance(1000);
      await ends[status](world, batch);
      await world.run();
      const { completedAt, cancelledAt } = await world.read(batch);
      const completed_requests = status === 'completed' ? 1 : 0;
      const counts = { total_requests: 1, completed_requests, failed_requests: 1 - completed_requests };
      const payload = {
        ...{ event: `batch.${status}`, timestamp: status === 'cancelled' ? cancelledAt : completedAt },
        data: { id: batch.id, status, ...counts, metadata: {} },
      };
      const payloads = world.state.calls.map(({ body }) => JSON.parse(body));
      expect(payloads).toEqual(event === status ? [payload] : []);
    }
  },
);

describe('a delivery', () => {
  it.each([
    [200, 'delivered'],
    [299, 'delivered'],
    [300, 'pending'],
    [410, 'gone'],
  ])('has after a response of %i the state %s', async (status, state) => {
    const world = batchWorld();
    world.state.receive = () => ({ status, retryAfter: null });
    const batch = await createWith(world, ['completed']);
    await world.run();
    expect(await deliveryOf(world, batch)).toMatchObject({ state, attempts: 1 });
  });

  it('leaves a receiver alone for as long as it asks, up to the longest wait of the schedule', async () => {
    const world = batchWorld();
    const busy = [7200, 99_999].map((seconds) => ({ status: 429, retryAfter: seconds * 1000 }));
    world.state.receive = (attempt) => busy[attempt - 1] ?? { status: 200, retryAfter: null };
    const batch = await createWith(world, ['completed']);
    await untilState(world, batch, 'delivered');
    expect(waits(world).map((wait) => Math.round(wait / 60))).toEqual([120, 600]);
  });

  it('is retried by its schedule, with the same event and a new signature, until it is exhausted', async () => {
    const world = batchWorld();
    world.state.receive = () => failing;
    const batch = await createWith(world, ['completed'], 'secret');
    await untilState(world, batch, 'exhausted');
    const schedule = [5, 300, 1800, 7200, 18_000, 36_000, 36_000];
    const ratios = waits(world).map((wait, index) => wait / (schedule[index] ?? 0));
    expect(ratios).toHaveLength(7);
    // Whole seconds of the workflow, with a jitter of a tenth.
    for (const ratio of ratios) {
      expect(ratio).toBeGreaterThanOrEqual(0.9);
      expect(ratio).toBeLessThanOrEqual(1.3);
    }
    const { calls } = world.state;
    expect(new Set(calls.map(({ body }) => body)).size).toBe(1);
    expect(new Set(calls.map(({ headers }) => headers['X-Service-Event-Id'])).size).toBe(1);
    expect(new Set(calls.map(({ headers }) => headers['X-Service-Signature'])).size).toBe(8);
    const attempts = await world.stores.deliveries.attempts(ownerOf(batch));
    expect(attempts.map(({ number, status }) => [number, status])).toEqual(
      Array.from({ length: 8 }, (_, index) => [index + 1, 500]),
    );
    expect([...world.workflow.executions.values()].map(({ state }) => state)).toEqual(['ended']);
  });

  it('counts an attempt whose function died, and goes on after twice the time of the receiver', async () => {
    const world = batchWorld();
    world.state.diesAfter = (call) => call === 'webhookSender.post' && world.state.calls.length === 1;
    const batch = await createWith(world, ['completed']);
    await untilState(world, batch, 'delivered');
    expect(waits(world)[0]).toBeGreaterThanOrEqual(30 + 4.5);
    expect(waits(world)[0]).toBeLessThanOrEqual(30 + 6.5);
    const attempts = await world.stores.deliveries.attempts(ownerOf(batch));
    expect(attempts.map(({ status }) => status)).toEqual([null, 200]);
  });

  it('is exhausted if the function of its last attempt died', async () => {
    const world = batchWorld();
    world.state.receive = () => failing;
    world.state.diesAfter = (call) => call === 'webhookSender.post' && world.state.calls.length === 8;
    const batch = await createWith(world, ['completed']);
    await untilState(world, batch, 'exhausted');
    expect(world.state.calls).toHaveLength(8);
  });

  it('does not count a secret that cannot be decrypted as an attempt', async () => {
    const world = batchWorld();
    const { decrypt } = world.services.secretCipher;
    let failures = 0;
    world.services.secretCipher.decrypt = async (secret, owner) => {
      failures += 1;
      if (failures < 4) throw new Error('KMS is unavailable');
      return decrypt(secret, owner);
    };
    const batch = await createWith(world, ['completed'], 'secret');
    await untilState(world, batch, 'delivered');
    expect(await deliveryOf(world, batch)).toMatchObject({ attempts: 1, allAttempts: 1 });
  });

  it('of a batch without one is over', async () => {
    const world = batchWorld();
    const batch = await world.create(1);
    await world.run();
    const over = { state: 'settled', seconds: 0 };
    expect(await world.functions.deliver(ownerOf(batch))).toEqual(over);
    expect(await world.functions.deliver({ workspaceId: 'ws_1', batchId: 'unknown' })).toEqual(over);
  });
});

describe('a delivery without an execution', () => {
  it('gets one from the reconciler when an attempt is overdue, and leaves the index at its end', async () => {
    const world = batchWorld();
    world.state.receive = (attempt) => (attempt < 3 ? failing : { status: 200, retryAfter: null });
    const batch = await createWith(world, ['completed']);
    await world.runUntil(() => world.state.calls.length === 1);
    for (const execution of world.workflow.executions.values()) execution.state = 'ended';
    await untilState(world, batch, 'delivered');
    expect((await world.read(batch)).executionNumber).toBe(2);
    expect([...world.workflow.executions.keys()]).toEqual(['batch-001-1', 'batch-001-2']);
    const { reconciliationIndex } = world.stores;
    await world.runUntil(
      async () => (await Array.fromAsync(reconciliationIndex.workspacesWithWebhooks())).length === 0,
    );
    // A reconciler that meets a running execution starts no other.
    expect((await world.read(batch)).executionNumber).toBe(2);
  });

  it('has an index entry for the time of its next attempt', async () => {
    const world = batchWorld();
    world.state.receive = () => failing;
    const batch = await createWith(world, ['completed']);
    await world.run();
    await world.clock.advance(60_000);
    await world.run();
    await world.reconcile();
    const { nextAt } = await deliveryOf(world, batch);
    const entries = world.stores.reconciliationIndex.webhooksDue(batch.workspaceId, '2100');
    expect(await Array.fromAsync(entries)).toEqual([{ ...ownerOf(batch), due: nextAt }]);
    expect(Date.parse(nextAt)).toBeGreaterThan(world.clock.now().getTime());
  });
});
