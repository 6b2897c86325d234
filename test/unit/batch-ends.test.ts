import { describe, expect, it } from 'vitest';
import { advanceBatch } from '#domain/batches/advance-batch.ts';
import type { Batch } from '#domain/batches/batch.ts';
import { cancelBatch } from '#domain/batches/batches.ts';
import { ModelFailure } from '#domain/platform/failures.ts';
import { type BatchWorld, batchWorld } from '#support/batch-world/batch-world.ts';

const allowed = async (): Promise<void> => undefined;
const cancel = (world: BatchWorld, { id }: Pick<Batch, 'id'>) =>
  cancelBatch(world.services, 'ws_1', id, allowed);

const untilStatus = (world: BatchWorld, batch: Batch, status: Batch['status'], hours = 1) =>
  world.runUntil(async () => (await world.read(batch)).status === status, hours);

const outcomesOf = async (world: BatchWorld, batch: Batch) =>
  (await world.results(batch)).map(({ status, error_code, error_message, processed_at }) => [
    status,
    ...(error_code === null ? [] : [error_code, error_message, processed_at]),
  ]);

const start = '2027-01-31T12:00:00.000Z';
const afterSeconds = (seconds: number) => new Date(Date.parse(start) + seconds * 1000).toISOString();
const cancelledAt = (seconds: number) => ['failed', 499, 'The batch was cancelled', afterSeconds(seconds)];
const brokenAt = (seconds: number) => [
  'failed',
  500,
  'The batch could not be carried through',
  afterSeconds(seconds),
];
const times = <Value>(count: number, value: Value): Value[] => Array.from({ length: count }, () => value);

/**
 * A batch with one request in work. If it has 25, its worker has taken the first 20, and no worker has the others. `work`
 * ends with the model's silence.
 */
async function withRequestInWork(total = 25, settings: Parameters<typeof batchWorld>[0] = {}) {
  const world = batchWorld({ requestsPerWorker: total > 2 ? 1 : 2, ...settings });
  world.model.replyTo = (message) => (message === 'Question 0' ? 'silence' : message);
  const batch = await world.create(total);
  await world.workflow.step(world.functions);
  const work = world.deliver(1);
  await world.clock.advance(1000);
  return { world, batch, work };
}

describe('a cancelled batch', () => {
  it('does not wait for a worker that has died: its request fails when its lease has ended', async () => {
    const world = batchWorld();
    const batch = await world.create(2);
    await world.workflow.step(world.functions);
    world.state.killer = { diesAfter: (write) => write === 'batches.claim' };
    await world.deliver();
    world.state.killer = null;
    await cancel(world, batch);
    await untilStatus(world, batch, 'cancelled');
    expect(await outcomesOf(world, batch)).toEqual([cancelledAt(0), cancelledAt(0)]);
    expect(world.clock.now().getTime() - Date.parse(start)).toBeLessThanOrEqual(60_000);
    expect(await world.stores.chats.get('ws_1', 1)).toMatchObject({ lease: null });
  });

  it('releases the chats of requests that waited for a retry', async () => {
    const world = batchWorld();
    await world.createHistory();
    world.model.replyTo = () => new ModelFailure('throttled', 'Busy');
    const batch = await world.create([{ history_id: 1 }, {}]);
    await world.run();
    expect(await world.stores.chats.get('ws_1', 2)).toMatchObject({ lease: { id: 'batch:batch-001:1' } });
    await cancel(world, batch);
    await world.run();
    expect((await world.read(batch)).status).toBe('cancelled');
    for (const id of [1, 2]) expect(await world.stores.chats.get('ws_1', id)).toMatchObject({ lease: null });
  });

  it('is cancelled by the reconciler if the callback of its workflow was not completed', async () => {
    const world = batchWorld();
    const batch = await world.create(2);
    await world.workflow.step(world.functions);
    const { completeTaskCallback } = world.workflow;
    world.workflow.completeTaskCallback = async () => {
      throw new Error('Step Functions is unavailable');
    };
    expect(await cancel(world, batch)).toMatchObject({ status: 'cancelling' });
    world.workflow.completeTaskCallback = completeTaskCallback;
    await untilStatus(world, batch, 'cancelled');
  });

  it('that ends at the same time ends as cancelled', async () => {
    const world = batchWorld();
    const batch = await world.create(1);
    await world.workflow.step(world.functions);
    await world.deliver();
    const { complete } = world.stores.batches;
    let isFirst = true;
    world.services.batches.complete = async (read, final, delivery) => {
      if (isFirst) await cancel(world, batch);
      isFirst = false;
      return complete(read, final, delivery);
    };
    await world.run();
    expect(await world.read(batch)).toMatchObject({ status: 'cancelled', completed: 1, failed: 0 });
  });
});

describe('an expired batch', () => {
  const timeout = 60_000;

  it('starts no request before anything has marked it', async () => {
    const world = batchWorld({ timeout });
    world.state.reconciles = false;
    const batch = await world.create(2);
    await world.workflow.step(world.functions);
    await world.clock.advance(timeout);
    expect((await world.read(batch)).stop).toBeNull();
    await world.deliver();
    expect(world.model.calls).toEqual([]);
    expect(await world.stores.batches.allItems(batch)).toEqual([]);
  });

  it('that was cancelled before ends as cancelled', async () => {
    const { world, batch, work } = await withRequestInWork(25, { timeout });
    await cancel(world, batch);
    await world.advanceDuring(work, 10_000);
    await untilStatus(world, batch, 'cancelled');
    expect((await outcomesOf(world, batch)).slice(20)).toEqual(times(5, cancelledAt(1)));
  });
});

describe('a batch whose workflow cannot go on', () => {
  it('fails, also the requests in work, whose workers cannot change it any more', async () => {
    const { world, batch, work } = await withRequestInWork();
    expect(await world.functions.fail({ workspaceId: 'ws_1', batchId: batch.id })).toEqual({
      webhook: false,
    });
    const failed = await world.read(batch);
    expect(failed).toMatchObject({
      status: 'failed',
      completed: 0,
      failed: 25,
      completedAt: afterSeconds(1),
    });
    const outcomes = await outcomesOf(world, batch);
    expect(outcomes).toEqual([...times(25, brokenAt(1))]);
    await world.advanceDuring(work, 10_000);
    await world.run();
    expect(await world.read(batch)).toEqual(failed);
    expect(await outcomesOf(world, batch)).toEqual(outcomes);
    expect(await world.stores.chats.get('ws_1', 1)).toMatchObject({ lease: null });
  });

  it('does not change a batch that has ended', async () => {
    const world = batchWorld();
    const batch = await world.create(1);
    await world.run();
    const ended = await world.read(batch);
    await world.clock.advance(1000);
    await world.functions.fail({ workspaceId: 'ws_1', batchId: batch.id });
    expect(await world.read(batch)).toEqual(ended);
  });

  it('is cancelled if its client has cancelled it before', async () => {
    const { world, batch, work } = await withRequestInWork(2);
    await cancel(world, batch);
    await world.functions.fail({ workspaceId: 'ws_1', batchId: batch.id });
    expect(await world.read(batch)).toMatchObject({ status: 'cancelled', completed: 1, failed: 1 });
    await world.advanceDuring(work, 10_000);
  });
});

it('advanceBatch says what the workflow must wait for', async () => {
  const { world, batch, work } = await withRequestInWork(2);
  const phase = async () =>
    (await advanceBatch(world.services, { workspaceId: 'ws_1', batchId: batch.id })).stage;
  expect(await phase()).toBe('wait');
  await cancel(world, batch);
  expect(await phase()).toBe('finish');
  await world.advanceDuring(work, 10_000);
  expect(await phase()).toBe('over');
  expect(await phase()).toBe('over');
  expect(world.state.endedBatches).toEqual(['cancelled']);
  // Its workspace was deleted.
  const unknown = { workspaceId: 'ws_1', batchId: 'unknown' };
  expect(await world.functions.advance(unknown)).toEqual({ stage: 'over', webhook: false });
  expect(await world.functions.fail(unknown)).toEqual({ webhook: false });
});

const keyAt = (world: BatchWorld, fingerprint = 'request') => ({
  ...{ workspaceId: 'ws_1', hash: 'key', fingerprint, at: world.clock.now().getTime() },
});

const isEmpty = async ({ stores, workflow }: BatchWorld): Promise<boolean> =>
  (await stores.batches.page('ws_1', {}, { limit: 1, offset: 0 })).total === 0 &&
  (await stores.reconciliationIndex.openBatches()).length === 0 &&
  workflow.executions.size === 0;

it('a new batch is created although its workflow cannot be started: the reconciler starts it', async () => {
  const world = batchWorld();
  const { start } = world.workflow;
  world.workflow.start = async () => {
    throw new Error('Step Functions is unavailable');
  };
  const batch = await world.create(1);
  world.workflow.start = start;
  await world.untilEnd(batch);
});

describe('a rejection', () => {
  const file = (uuid: string, expiresAt: string | null) => ({
    ...{ uuid, workspaceId: 'ws_1', name: 'file', contentType: 'text/plain', size: 1 },
    ...{ scope: 'ephemeral' as const, createdAt: '2027-01-31T11:00:00.000Z', expiresAt },
  });

  it('names the first of several errors, always in the same order, and writes nothing', async () => {
    const world = batchWorld();
    const { state } = world;
    state.workspace.whitelistEnabled = true;
    state.whitelist.add('listed');
    state.forbiddenUrls.set('https://10.0.0.1', 'The address is not allowed');
    for (const externalUserId of ['listed', 'other'])
      await world.stores.chats.create({
        ...{ workspaceId: 'ws_1', agentId: 'other agent', name: 'History', externalUserId },
      });
    state.files.set('expired', file('expired', '2027-01-31T12:00:00.000Z'));
    state.files.set('file', file('file', null));
    const first = { external_user_id: 'listed', agent_id: 'other agent' };
    let second: Parameters<typeof world.create>[0] & object = [];
    const create = (agent_id: string, url: string, mostOpen: number | null) =>
      world.create([first, ...second], { agent_id, mostOpen, webhook: { url, events: [] } });
    const bad = ['unknown agent', 'https://10.0.0.1', 0] as const;
    const isRejected = async (
      given: Parameters<typeof create>,
      request: Record<string, unknown>,
      expected: [kind: string, message: string],
    ) => {
      second = [{ ...request }];
      const error = await create(...given).catch((thrown: unknown) => thrown);
      expect([(error as { kind: string }).kind, (error as Error).message]).toEqual(expected);
    };
    const user = { external_user_id: 'listed' };
    const otherAgent = { ...user, agent_id: 'other agent' };
    const wrongFiles = { attached_file_uuids: ['unknown'] };

    await isRejected(bad.slice() as Parameters<typeof create>, { custom_id: 'request 0' }, [
      'badRequest',
      'requests[1].custom_id is the same as that of requests[0]',
    ]);
    await isRejected(bad.slice() as Parameters<typeof create>, { ...wrongFiles, history_id: 9 }, [
      'clientNotAllowed',
      'requests[1].external_user_id is required in whitelist mode',
    ]);
    await isRejected(bad.slice() as Parameters<typeof create>, { external_user_id: 'other', history_id: 9 }, [
      'clientNotAllowed',
      'requests[1].external_user_id is not on the whitelist of this workspace',
    ]);
    await isRejected(bad.slice() as Parameters<typeof create>, { ...user, ...wrongFiles, history_id: 9 }, [
      'badRequest',
      'agent_id is not a published agent of this workspace',
    ]);
    await isRejected(['agent', bad[1], 0], { ...user, agent_id: 'unknown agent', history_id: 9 }, [
      'badRequest',
      'requests[1].agent_id is not a published agent of this workspace',
    ]);
    await isRejected(['agent', bad[1], 0], { ...user, ...wrongFiles, history_id: 9 }, [
      'notFound',
      'requests[1].history_id: Chat not found',
    ]);
    await isRejected(['agent', bad[1], 0], { ...otherAgent, ...wrongFiles, history_id: 2 }, [
      'notFound',
      'requests[1].history_id: Chat not found',
    ]);
    await isRejected(['agent', bad[1], 0], { ...user, ...wrongFiles, history_id: 1 }, [
      'badRequest',
      'requests[1].history_id: Agent mismatch',
    ]);
    await isRejected(
      ['agent', bad[1], 0],
      { ...otherAgent, attached_file_uuids: ['1', '2', '3'], history_id: 1 },
      ['badRequest', 'requests[1].attached_file_uuids must have at most 2 elements'],
    );
    await isRejected(['agent', bad[1], 0], { ...otherAgent, ...wrongFiles, history_id: 1 }, [
      'badRequest',
      'requests[1].attached_file_uuids[0] is not a file of this workspace',
    ]);
    await isRejected(['agent', bad[1], 0], { ...user, attached_file_uuids: ['file', 'expired'] }, [
      'badRequest',
      'requests[1].attached_file_uuids[1] has expired: an ephemeral file is kept for 24 hours',
    ]);
    await isRejected(['agent', bad[1], 0], user, ['badRequest', 'webhook.url: The address is not allowed']);
    await isRejected(['agent', 'https://example.com', 0], user, [
      'rateLimited',
      'The workspace has 0 open batches, as many as it may have: wait for the end of one, or cancel one',
    ]);
    expect(await isEmpty(world)).toBe(true);
    await create('agent', 'https://example.com', 1);
    expect(await isEmpty(world)).toBe(false);
  });

  it('of an unknown workspace is a denied access', async () => {
    const world = batchWorld();
    world.state.workspace.id = 'ws_2';
    await expect(world.create(1)).rejects.toMatchObject({ kind: 'accessDenied' });
  });
});

describe('a repeated request with its key', () => {
  it('leaves no key behind if the first request was rejected', async () => {
    const world = batchWorld();
    const key = keyAt(world);
    await expect(world.create(3, { key, agent_id: 'unknown agent' })).rejects.toThrow('agent_id');
    expect(await world.stores.idempotency.find(key)).toBeUndefined();
  });

  it.each([
    ['idempotency.store', 'before it created the batch, after a wait of 3 s'],
    ['batches.create', 'before it started the workflow, at once'],
  ])('continues after the first request died after %s: %s', async (write) => {
    const world = batchWorld();
    const key = keyAt(world);
    world.state.killer = { diesAfter: (name) => name === write };
    await expect(world.create(3, { key })).rejects.toThrow();
    world.state.killer = null;
    const start = world.clock.now().getTime();
    const batch = await world.advanceDuring(world.create(3, { key }));
    expect(batch.id).toBe('batch-001');
    expect(world.clock.now().getTime() - start).toBe(write === 'batches.create' ? 0 : 3000);
    await world.untilEnd(batch);
  });
});
