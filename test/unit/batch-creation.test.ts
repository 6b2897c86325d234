import { describe, expect, it } from 'vitest';
import { type BatchWorld, batchWorld } from '#support/batch-world/batch-world.ts';

const keyAt = (world: BatchWorld, fingerprint = 'request') => ({
  ...{ workspaceId: 'ws_1', hash: 'key', fingerprint, at: world.clock.now().getTime() },
});

const isEmpty = async ({ stores, workflow }: BatchWorld): Promise<boolean> =>
  (await stores.batches.page('ws_1', {}, { limit: 1, offset: 0 })).total === 0 &&
  (await stores.reconciliationIndex.openBatches()).length === 0 &&
  workflow.executions.size === 0;

describe('a new batch', () => {
  it('is created although its workflow cannot be started: the reconciler starts it', async () => {
    const world = batchWorld();
    const { start } = world.workflow;
    world.workflow.start = async () => {
      throw new Error('Step Functions is unavailable');
    };
    const batch = await world.create(1);
    world.workflow.start = start;
    await world.untilEnd(batch);
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
