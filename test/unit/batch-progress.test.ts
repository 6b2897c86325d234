import { describe, expect, it } from 'vitest';
import { countBatches } from '#domain/batches/batches.ts';
import { ModelFailure } from '#domain/platform/failures.ts';
import { batchWorld } from '#support/batch-world/batch-world.ts';

describe('the counts and results of an open batch', () => {
  it('are counted for many batches in the order of the list, without a read before the first take', async () => {
    const world = batchWorld();
    const batches = await Promise.all(Array.from({ length: 20 }, () => world.create(1)));
    world.services.batches.allItems = () => Promise.reject(new Error('No request has started'));
    expect(await countBatches(world.services, batches)).toEqual(batches);
  });
});

describe('the requests of one history', () => {
  it('go on after one of them has failed', async () => {
    const world = batchWorld();
    await world.createHistory();
    world.model.replyTo = (message) =>
      message === 'Question 0' ? new ModelFailure('refused', 'No') : message;
    const batch = await world.create([{ history_id: 1 }, { history_id: 1 }]);
    await world.run();
    expect((await world.results(batch)).map(({ status }) => status)).toEqual(['failed', 'success']);
  });

  it('wait while another reply owns the chat, and close a turn that was abandoned', async () => {
    const world = batchWorld();
    const chat = await world.createHistory();
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
    await world.untilEnd(batch);
    expect(world.clock.now().getTime()).toBeGreaterThan(until);
    const pages = world.stores.messages.range(chat, { first: 1, last: 9, ascending: true });
    const contents = (await Array.fromAsync(pages)).flat().map(({ message }) => message.content);
    expect(contents).toEqual(['Hi', '', 'Question 0', 'Reply to Question 0']);
  });
});

describe('a worker checks once more what may have changed since the creation', () => {
  it('the texts, which an erasure of their user has removed', async () => {
    const world = batchWorld();
    await world.createHistory();
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
});
