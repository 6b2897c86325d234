import { describe, expect, it } from 'vitest';
import { createBatchBody } from '#contract/routes/create-batch.ts';
import { type BatchWorld, batchWorld } from '#support/batch-world/batch-world.ts';

const requestsOf = (count: number) =>
  Array.from({ length: count }, (_, position) => ({
    custom_id: `request ${position}`,
    message: `Question ${position}`,
  }));

const keyAt = (world: BatchWorld, fingerprint = 'request') => ({
  ...{ workspaceId: 'ws_1', hash: 'key', fingerprint, at: world.clock.now().getTime() },
});

const isEmpty = async ({ stores, workflow }: BatchWorld): Promise<boolean> =>
  (await stores.batches.page('ws_1', {}, { limit: 1, offset: 0 })).total === 0 &&
  (await stores.reconciliationIndex.openBatches()).length === 0 &&
  workflow.executions.size === 0;

describe('the body', () => {
  const agent_id = '0197f2ac-8a4e-7c1b-9d52-3f6e1b0a7c44';

  it.each([
    [0, 'must have at least 1 element'],
    [1, null],
    [1000, null],
    [1001, 'must have at most 1000 elements'],
  ])('may have 1 to 1000 requests: %i', (count, message) => {
    const { error } = createBatchBody.safeParse({ agent_id, requests: requestsOf(count) });
    expect(error?.issues[0]?.message ?? null).toBe(message);
  });
});

describe('a new batch', () => {
  it('has its requests in input order, and an execution', async () => {
    const world = batchWorld();
    const batch = await world.create([
      {},
      { custom_id: 'own id', name: 'Own name', agent_id: 'other agent', external_user_id: 'user' },
    ]);
    expect(batch).toMatchObject({
      ...{ id: 'batch-001', status: 'in_progress', total: 2, completed: 0, failed: 0, executionNumber: 1 },
      ...{ createdAt: '2027-01-31T12:00:00.000Z', expiresAt: '2027-02-01T12:00:00.000Z' },
    });
    expect(await world.read(batch)).toEqual(batch);
    expect(await world.stores.batches.requests(batch, [0, 1])).toMatchObject([
      { customId: 'request 0', name: 'request 0', agentId: 'agent', externalUserId: null },
      { customId: 'own id', name: 'Own name', agentId: 'other agent', externalUserId: 'user' },
    ]);
    expect([...world.workflow.executions.keys()]).toEqual(['batch-001-1']);
  });

  it.each([1, 1000])('may have %i requests', async (count) => {
    const world = batchWorld();
    const batch = await world.create(count);
    expect(await world.stores.batches.manifest(batch)).toHaveLength(count);
  });

  it('links the requests of one history to a chain', async () => {
    const world = batchWorld();
    for (const name of ['one', 'other'])
      await world.stores.chats.create({
        ...{ workspaceId: 'ws_1', agentId: 'agent', name, externalUserId: null },
      });
    const batch = await world.create([
      { history_id: 1 },
      {},
      { history_id: 2 },
      { history_id: 1 },
      { history_id: 1 },
    ]);
    const requests = await world.stores.batches.requests(batch, [0, 1, 2, 3, 4]);
    expect(requests.map(({ previous, next }) => [previous, next])).toEqual([
      [null, 3],
      [null, null],
      [null, null],
      [0, 4],
      [3, null],
    ]);
  });

  it('is created although its workflow cannot be started: the reconciler starts it', async () => {
    const world = batchWorld();
    const { start } = world.workflow;
    world.workflow.start = async () => {
      throw new Error('Step Functions is unavailable');
    };
    const batch = await world.create(1);
    world.workflow.start = start;
    await world.runUntil(async () => (await world.read(batch)).status === 'completed');
  });

  it('has the address and the secret of its webhook encrypted for it alone', async () => {
    const world = batchWorld();
    const url = 'https://example.com/hook';
    const batch = await world.create(1, { webhook: { url, events: ['failed'], secret: 'secret' } });
    const target = (secrets: string[], id: string) => `${JSON.stringify({ url, secrets })} of ${id}`;
    expect(await world.stores.batches.webhook(batch)).toEqual({
      events: ['failed'],
      target: target(['secret'], 'batch-001'),
    });
    const without = await world.create(1, { webhook: { url, events: [] } });
    expect(await world.stores.batches.webhook(without)).toEqual({
      events: [],
      target: target([], 'batch-002'),
    });
  });
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

describe('the limit of open batches', () => {
  it('is reached, and frees one as soon as a batch has ended', async () => {
    const world = batchWorld();
    const first = await world.create(1, { mostOpen: 2 });
    await world.create(1, { mostOpen: 2 });
    await expect(world.create(1, { mostOpen: 2 })).rejects.toMatchObject({
      ...{ kind: 'rateLimited', retryAfter: 30 },
    });
    await world.runUntil(async () => (await world.read(first)).status === 'completed');
    await world.create(1, { mostOpen: 2 });
  });

  it('holds for requests at the same time', async () => {
    const world = batchWorld();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 5 }, () => world.create(1, { mostOpen: 2 })),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    expect(await world.stores.batches.countOpen('ws_1')).toBe(2);
  });
});

describe('a repeated request with its key', () => {
  it('gets the batch as it was created, also after its end', async () => {
    const world = batchWorld();
    const key = keyAt(world);
    const created = await world.create(3, { key });
    await world.runUntil(async () => (await world.read(created)).status === 'completed');
    const repeated = await world.create(3, { key, mostOpen: 0 });
    expect(repeated).toMatchObject({
      ...{ id: created.id, status: 'in_progress', completed: 0, failed: 0, completedAt: null },
    });
    expect(world.workflow.executions.size).toBe(1);
    expect(await world.stores.batches.page('ws_1', {}, { limit: 9, offset: 0 })).toMatchObject({ total: 1 });
  });

  it('is rejected if the request is another', async () => {
    const world = batchWorld();
    await world.create(3, { key: keyAt(world) });
    await expect(world.create(3, { key: keyAt(world, 'other request') })).rejects.toMatchObject({
      ...{
        kind: 'badRequest',
        message: expect.stringContaining('Idempotency-Key was used for another request'),
      },
    });
  });

  it('creates one batch if it comes at the same time as the first', async () => {
    const world = batchWorld();
    const key = keyAt(world);
    const created = await world.advanceDuring(
      Promise.all(Array.from({ length: 4 }, () => world.create(3, { key }))),
    );
    expect(new Set(created.map(({ id }) => id)).size).toBe(1);
    expect(await world.stores.batches.countOpen('ws_1')).toBe(1);
  });

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
    await world.runUntil(async () => (await world.read(batch)).status === 'completed');
  });
});
