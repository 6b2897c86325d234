import { describe, expect, it } from 'vitest';
import type { Batch } from '#domain/batches/batch.ts';
import { countBatch, countBatches } from '#domain/batches/count-batch.ts';
import { listBatchResults } from '#domain/batches/list-batch-results.ts';
import { ModelFailure } from '#domain/platform/model-failure.ts';
import { type BatchWorld, batchWorld } from '#support/batch-world/batch-world.ts';

const untilEnd = (world: BatchWorld, batch: Batch, hours = 1) =>
  world.runUntil(async () => (await world.read(batch)).status === 'completed', hours);

const createHistory = ({ stores }: BatchWorld) =>
  stores.chats.create({
    ...{ workspaceId: 'ws_1', agentId: 'agent', name: 'History', externalUserId: null },
  });

describe('a batch', () => {
  it.each([1, 25])(
    'of %i requests is completed with exact counts, and results in input order',
    async (total) => {
      const world = batchWorld();
      const batch = await world.create(total);
      await world.run();
      expect(await world.read(batch)).toMatchObject({
        ...{ status: 'completed', completed: total, failed: 0, next: expect.any(Number), slots: {} },
        ...{ completedAt: '2027-01-31T12:00:00.000Z', cancelledAt: null, stop: null },
      });
      const results = await world.results(batch);
      expect(results.map(({ custom_id, response_content }) => [custom_id, response_content])).toEqual(
        Array.from({ length: total }, (_, position) => [
          `request ${position}`,
          `Reply to Question ${position}`,
        ]),
      );
      const chatId = results[0]?.history_id ?? 0;
      expect(results.map(({ history_id }) => history_id ?? 0).sort((one, other) => one - other)).toEqual(
        Array.from({ length: total }, (_, index) => index + 1),
      );
      expect(results[0]).toEqual({
        ...{ custom_id: 'request 0', status: 'success', response_content: 'Reply to Question 0' },
        // Several workers create the chats, in any order.
        ...{
          history_id: chatId,
          conversation_id: chatId,
          message_id: chatId * 2 ** 21 + 2,
          incomplete: null,
        },
        ...{ error_code: null, error_message: null, processed_at: '2027-01-31T12:00:00.000Z' },
        response_usage: {
          ...{ total_calls: 1, total_tokens: 12, total_prompt_tokens: 10, total_completion_tokens: 2 },
          tool_calls: [],
          main_response: {
            ...{
              model: 'openai:test',
              call_type: 'chat',
              total_tokens: 12,
              prompt_tokens: 10,
              completion_tokens: 2,
            },
          },
        },
      });
      expect(world.queue.messages).toEqual([]);
      expect(world.model.calls).toHaveLength(total);
      expect([...world.workflow.executions.values()].map(({ state }) => state)).toEqual(['ended']);
      expect(world.state.endedBatches).toEqual(['completed']);
      const counted = world.state.uses.reduce((sum, { counts }) => sum + (counts.batchRequests ?? 0), 0);
      expect(counted).toBe(total);
    },
  );

  it('has failed requests among its counts', async () => {
    const world = batchWorld();
    world.model.replyTo = (message) =>
      ['Question 1', 'Question 11'].includes(message)
        ? { text: 'Half a', error: new Error('Broken') }
        : message;
    const batch = await world.create(12);
    await untilEnd(world, batch);
    expect(await world.read(batch)).toMatchObject({ completed: 10, failed: 2 });
    expect((await world.results(batch)).map(({ status }) => status)).toEqual(
      Array.from({ length: 12 }, (_, position) => ([1, 11].includes(position) ? 'failed' : 'success')),
    );
  });
});

describe('the counts and results of an open batch', () => {
  it('agree at any time, and never fall', async () => {
    const world = batchWorld({ slots: 1, requestsPerWorker: 3 });
    const batch = await world.create(35);
    const seen: number[] = [];
    const check = async (): Promise<void> => {
      const current = await world.read(batch);
      const { completed, failed } = await countBatch(world.services, current);
      const statuses = (await world.results(batch)).map(({ status }) => status);
      expect([completed, failed]).toEqual([statuses.filter((each) => each === 'success').length, 0]);
      seen.push(completed);
    };
    const { replaceItem } = world.stores.batches;
    world.services.batches.replaceItem = async (...change) => {
      const isDone = await replaceItem(...change);
      await check();
      return isDone;
    };
    await check();
    await untilEnd(world, batch);
    await check();
    expect(seen).toEqual(seen.toSorted((one, other) => one - other));
    expect([seen[0], seen.at(-1)]).toEqual([0, 35]);
    expect((await world.read(batch)).status).toBe('completed');
  });

  it('show a request in work as processing', async () => {
    const world = batchWorld();
    world.model.replyTo = (message) => (message === 'Question 1' ? 'silence' : message);
    const batch = await world.create(3);
    await world.workflow.step(world.functions);
    const work = world.deliver();
    await world.clock.advance(1000);
    const results = await world.results(batch);
    expect(results.map(({ status }) => status)).toEqual(['success', 'processing', 'success']);
    expect(results[1]).toMatchObject({ response_content: null, processed_at: null, history_id: 2 });
    expect(await countBatch(world.services, await world.read(batch))).toMatchObject({
      completed: 2,
      failed: 0,
    });
    await world.advanceDuring(work, 10_000);
  });

  it('are counted for many batches in the order of the list, without a read before the first take', async () => {
    const world = batchWorld();
    const batches = await Promise.all(Array.from({ length: 20 }, () => world.create(1)));
    world.services.batches.allItems = () => Promise.reject(new Error('No request has started'));
    expect(await countBatches(world.services, batches)).toEqual(batches);
  });
});

describe('a page of results', () => {
  it('has the requests of one status from its offset on, and their total', async () => {
    const world = batchWorld();
    world.model.replyTo = (message) =>
      Number(message.split(' ')[1]) % 3 === 0 ? { text: 'Half a', error: new Error('Broken') } : message;
    const batch = await world.create(120);
    await untilEnd(world, batch);
    const list = async (
      status: 'failed' | 'success' | 'pending' | undefined,
      limit: number,
      offset: number,
    ) => {
      const input = { workspaceId: 'ws_1', batchId: batch.id, status, limit, offset };
      const { total, pages } = await listBatchResults(world.services, input);
      return [
        total,
        (await Array.fromAsync(pages)).flat().map(({ custom_id }) => Number(custom_id.slice(8))),
      ];
    };
    expect(await list('failed', 3, 1)).toEqual([40, [3, 6, 9]]);
    expect(await list('success', 2, 79)).toEqual([80, [119]]);
    expect(await list('pending', 2, 0)).toEqual([0, []]);
    expect(await list(undefined, 200, 60)).toEqual([
      120,
      Array.from({ length: 60 }, (_, index) => 60 + index),
    ]);
    await expect(
      list(undefined, 1, 0).then(() => world.results({ ...batch, id: 'unknown' })),
    ).rejects.toThrow('Batch not found');
  });
});

describe('the requests of one history', () => {
  it('are processed one after the other, in input order, with the replies before them', async () => {
    const world = batchWorld();
    await createHistory(world);
    const positions = [0, 4, 5, 11, 24];
    const batch = await world.create(
      Array.from({ length: 25 }, (_, position) => (positions.includes(position) ? { history_id: 1 } : {})),
    );
    await untilEnd(world, batch);
    const ofHistory = world.model.requests.filter(({ chat }) => chat?.id === 1);
    expect(ofHistory.map(({ message }) => message)).toEqual(
      positions.map((position) => `Question ${position}`),
    );
    expect(ofHistory.map(({ history }) => history.length)).toEqual([0, 2, 4, 6, 8]);
    const results = await world.results(batch);
    expect(positions.map((position) => results[position]?.message_id)).toEqual(
      positions.map((_, index) => 2 ** 21 + 2 * index + 2),
    );
    expect(await world.read(batch)).toMatchObject({ completed: 25, slots: {} });
  });

  it('go on after one of them has failed', async () => {
    const world = batchWorld();
    await createHistory(world);
    world.model.replyTo = (message) =>
      message === 'Question 0' ? new ModelFailure('refused', 'No') : message;
    const batch = await world.create([{ history_id: 1 }, { history_id: 1 }]);
    await world.run();
    expect((await world.results(batch)).map(({ status }) => status)).toEqual(['failed', 'success']);
  });

  it('wait while another reply owns the chat, and close a turn that was abandoned', async () => {
    const world = batchWorld();
    const chat = await createHistory(world);
    const until = world.clock.now().getTime() + 60_000;
    const lease = { id: 'of a user', until };
    const now = world.clock.now().toISOString();
    const request = { workspaceId: 'ws_1', chatId: 1, agentId: 'agent', externalUserId: undefined };
    await world.stores.chats.takeLease({ ...request, lease, now });
    const createdAt = now;
    await world.stores.messages.put(chat, {
      role: 'user',
      position: 1,
      content: 'Hi',
      attachments: [],
      createdAt,
    });
    const batch = await world.create([{ history_id: 1 }]);
    await untilEnd(world, batch);
    expect(world.clock.now().getTime()).toBeGreaterThan(until);
    const pages = world.stores.messages.range(chat, { first: 1, last: 9, ascending: true });
    const contents = (await Array.fromAsync(pages)).flat().map(({ message }) => message.content);
    expect(contents).toEqual(['Hi', '', 'Question 0', 'Reply to Question 0']);
  });
});

describe('a worker checks once more what may have changed since the creation', () => {
  it('the chat of a history', async () => {
    const world = batchWorld();
    const chat = await createHistory(world);
    const batch = await world.create([{ history_id: 1 }, { history_id: 1 }, {}]);
    await world.stores.chats.delete([chat], world.clock.now().toISOString());
    await world.run();
    const gone = { status: 'failed', error_code: 400, error_message: 'Chat not found', history_id: 1 };
    expect(await world.results(batch)).toMatchObject([gone, gone, { status: 'success' }]);
  });

  it('the texts, which an erasure of their user has removed', async () => {
    const world = batchWorld();
    await createHistory(world);
    const batch = await world.create([{}, { history_id: 1 }, {}]);
    const { stores } = world;
    for (const index of [0, 1]) await stores.requestEraser.erase(batch, index);
    await world.run();
    const erased = { status: 'failed', error_code: 400, error_message: 'The request was erased' };
    expect(await world.results(batch)).toMatchObject([
      { ...erased, history_id: null },
      { ...erased, history_id: 1 },
      { status: 'success' },
    ]);
    expect(
      (await stores.chats.page({ workspaceId: 'ws_1' }, { limit: 9, offset: 0, ascending: true })).total,
    ).toBe(2);
  });

  it.each([
    ['the agent', 'Agent version not found'],
    ['the whitelist', 'external_user_id is required in whitelist mode'],
    ['the file', 'attached_file_uuids[0] is not a file of this workspace'],
  ])('%s', async (changed, message) => {
    const world = batchWorld();
    const { state } = world;
    const file = { uuid: 'file', workspaceId: 'ws_1', name: 'file', contentType: 'text/plain', size: 1 };
    state.files.set('file', { ...file, scope: 'persistent', createdAt: '', expiresAt: null });
    const batch = await world.create([{ attached_file_uuids: ['file'] }, { agent_id: 'other agent' }]);
    if (changed === 'the agent') state.agents.delete('agent');
    if (changed === 'the whitelist') state.workspace.whitelistEnabled = true;
    if (changed === 'the file') state.files.clear();
    await world.run();
    const [first, second] = await world.results(batch);
    expect(first).toMatchObject({
      status: 'failed',
      error_code: 400,
      error_message: message,
      history_id: null,
    });
    expect(second?.status).toBe(changed === 'the whitelist' ? 'failed' : 'success');
    expect((await world.read(batch)).status).toBe('completed');
  });
});
