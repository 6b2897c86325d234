import { describe, expect, it } from 'vitest';
import { advanceBatch } from '#domain/batches/advance-batch.ts';
import type { Batch } from '#domain/batches/batch.ts';
import { cancelBatch } from '#domain/batches/batches.ts';
import { type BatchWorld, batchWorld } from '#support/batch-world/batch-world.ts';

const cancel = (world: BatchWorld, { id }: Pick<Batch, 'id'>) =>
  cancelBatch(world.services, 'ws_1', id, async () => undefined);

const outcomesOf = async (world: BatchWorld, batch: Batch) =>
  (await world.results(batch)).map(({ status, error_code, error_message, processed_at }) => [
    ...[status, error_code, error_message, processed_at],
  ]);

/**
 * A batch with one request in work. If it has 25, its worker has taken the first 20, and no worker has the others. `work`
 * ends with the model's silence.
 */
async function withRequestInWork(total: 2 | 25, settings: Parameters<typeof batchWorld>[0] = {}) {
  const world = batchWorld({ requestsPerWorker: total > 2 ? 1 : 2, ...settings });
  world.model.replyTo = (message) => (message === 'Question 0' ? 'silence' : message);
  const batch = await world.create(total);
  await world.workflow.step(world.functions);
  const work = world.deliver(1);
  await world.clock.advance(1000);
  return { world, batch, work };
}

it('an expired batch starts no request before anything has marked it', async () => {
  const timeout = 60_000;
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

it('at its expiry what was not begun fails, what was finishes, and the batch is completed', async () => {
  const { world, batch, work } = await withRequestInWork(25, { timeout: 10_000 });
  await world.clock.advance(10_000);
  for (let step = 1; step <= 3; step += 1) await world.workflow.step(world.functions);
  const counted = async () =>
    [...Map.groupBy(await outcomesOf(world, batch), ([status, code]) => `${status} ${code}`)].map(
      ([outcome, all]) => [outcome, all.length],
    );
  expect(await counted()).toEqual([
    ['processing null', 20],
    ['failed 408', 5],
  ]);
  world.model.runtime.replies[0]?.end();
  await world.advanceDuring(work);
  await world.run();
  expect(await counted()).toEqual([
    ['success null', 20],
    ['failed 408', 5],
  ]);
  expect(await world.read(batch)).toMatchObject({ status: 'completed', completed: 20, failed: 5 });
});

it('a wait that begins when its batch has just ended is over at once, and leaves nothing behind', async () => {
  const world = batchWorld();
  const batch = await world.create(1);
  const { saveTaskToken } = world.stores.batches;
  const completedAt = '2027-01-31T12:00:00.000Z';
  world.services.batches.saveTaskToken = async (...token) => {
    const final = { status: 'completed', completed: 1, failed: 0, completedAt, cancelledAt: null } as const;
    expect(await world.stores.batches.complete(batch, final, null)).toBe(true);
    return saveTaskToken(...token);
  };
  await world.run();
  expect([...world.workflow.executions.values()]).toMatchObject([{ state: 'ended' }]);
  expect(await world.read(batch)).toMatchObject({ status: 'completed', slots: {} });
});

describe('a batch whose workflow cannot go on', () => {
  it('fails, also the requests in work, whose workers cannot change it any more', async () => {
    const { world, batch, work } = await withRequestInWork(25);
    expect(await world.functions.fail({ workspaceId: 'ws_1', batchId: batch.id })).toEqual({
      webhook: false,
    });
    const failed = await world.read(batch);
    const completedAt = '2027-01-31T12:00:01.000Z';
    expect(failed).toMatchObject({ status: 'failed', completed: 0, failed: 25, completedAt });
    const outcomes = await outcomesOf(world, batch);
    const broken = ['failed', 500, 'The batch could not be carried through', completedAt];
    expect(outcomes).toEqual(Array(25).fill(broken));
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

const isEmpty = async ({ stores, workflow }: BatchWorld): Promise<boolean> =>
  (await stores.batches.page('ws_1', {}, { limit: 1, offset: 0 })).total === 0 &&
  (await stores.reconciliationIndex.openBatches()).length === 0 &&
  workflow.executions.size === 0;

const file = (uuid: string, expiresAt: string | null) => ({
  ...{ uuid, workspaceId: 'ws_1', name: 'file', contentType: 'text/plain', size: 1 },
  ...{ scope: 'ephemeral' as const, createdAt: '2027-01-31T11:00:00.000Z', expiresAt },
});

it('a rejection names the first of several errors, always in the same order, and writes nothing', async () => {
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
  const key = { workspaceId: 'ws_1', hash: 'key', fingerprint: 'request', at: world.clock.now().getTime() };
  const create = (agent_id: string, url: string, mostOpen: number | null) =>
    world.create([first, ...second], { agent_id, key, mostOpen, webhook: { url, events: [] } });
  const bad: Parameters<typeof create> = ['unknown agent', 'https://10.0.0.1', 0];
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

  await isRejected(bad, { custom_id: 'request 0' }, [
    'badRequest',
    'requests[1].custom_id is the same as that of requests[0]',
  ]);
  await isRejected(bad, { ...wrongFiles, history_id: 9 }, [
    'clientNotAllowed',
    'requests[1].external_user_id is required in whitelist mode',
  ]);
  await isRejected(bad, { external_user_id: 'other', history_id: 9 }, [
    'clientNotAllowed',
    'requests[1].external_user_id is not on the whitelist of this workspace',
  ]);
  await isRejected(bad, { ...user, ...wrongFiles, history_id: 9 }, [
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
  expect(await world.stores.idempotency.find(key)).toBeUndefined();
  await create('agent', 'https://example.com', 1);
  expect(await isEmpty(world)).toBe(false);
});
