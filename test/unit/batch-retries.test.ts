import { describe, expect, it } from 'vitest';
import { countBatches } from '#domain/batches/batches.ts';
import { ModelFailure } from '#domain/platform/failures.ts';
import { type BatchWorld, batchWorld } from '#support/batch-world/batch-world.ts';

/** Seconds from the start of the world to each call of the model. */
function timesOfCalls(world: BatchWorld): number[] {
  const start = world.clock.now().getTime();
  const times: number[] = [];
  const { replyTo } = world.model;
  world.model.replyTo = (message, attempt) => {
    times.push((world.clock.now().getTime() - start) / 1000);
    return replyTo(message, attempt);
  };
  return times;
}

const throttled = (retryAfter?: number) => new ModelFailure('throttled', 'Too many calls', retryAfter);

describe('a request whose model is busy', () => {
  it('is retried when it is due, after waits of up to five minutes', async () => {
    const world = batchWorld();
    world.state.reconciles = false;
    world.model.replyTo = (message, attempt) => (attempt <= 9 ? throttled() : message);
    const times = timesOfCalls(world);
    const batch = await world.create(1);
    await world.untilEnd(batch, 2);
    const waits = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    // The first group waits a quarter less than 5, 10, 20 …
    expect(waits.map((wait) => Math.round(wait / 5) * 5)).toEqual([5, 10, 15, 30, 60, 120, 225, 225, 225]);
    expect(await world.results(batch)).toMatchObject([{ status: 'success', response_content: 'Question 0' }]);
  });

  it('waits as long as the provider asks, but not longer than the queue can delay a message', async () => {
    const world = batchWorld();
    world.state.reconciles = false;
    world.model.replyTo = (message, attempt) =>
      [throttled(60_000), throttled(3_600_000), throttled(1)][attempt - 1] ?? message;
    const times = timesOfCalls(world);
    await world.untilEnd(await world.create(1));
    expect(times).toEqual([0, 60, 960, 990]);
  });

  it('is retried until the batch expires, and has timed out then', async () => {
    const world = batchWorld({ timeout: 3_600_000 });
    world.model.replyTo = () => new ModelFailure('unavailable', 'Down');
    const batch = await world.create(1);
    await world.untilEnd(batch, 2);
    expect(await world.read(batch)).toMatchObject({ completed: 0, failed: 1, stop: { reason: 'expired' } });
    const error_message = 'The batch timed out before the request was processed';
    expect(await world.results(batch)).toMatchObject([{ status: 'failed', error_code: 408, error_message }]);
    expect(world.model.calls.length).toBeGreaterThan(12);
    // The chat of the request is open to other senders.
    expect(await world.stores.chats.get('ws_1', 1)).toMatchObject({ lease: null, messageCount: 0 });
  });

  it('waits in its place for two attempts, and leaves it to other requests then', async () => {
    const world = batchWorld({ slots: 1, requestsPerWorker: 1 });
    world.model.replyTo = (message, attempt) =>
      message === 'Question 0' && attempt <= 4 ? throttled() : message;
    const batch = await world.create(10);
    await world.untilEnd(batch);
    expect(world.model.calls.slice(0, 5)).toEqual([
      ...Array(3).fill('Question 0'),
      'Question 1',
      'Question 2',
    ]);
    expect(world.model.calls.filter((message) => message === 'Question 0')).toHaveLength(5);
    expect(await world.read(batch)).toMatchObject({ completed: 10, slots: {} });
  });

  it('opens its history to other senders while it waits', async () => {
    const world = batchWorld();
    await world.createHistory();
    world.model.replyTo = (message, attempt) => (attempt === 1 ? throttled() : message);
    const batch = await world.create([{ history_id: 1 }]);
    await world.run();
    expect(await world.stores.chats.get('ws_1', 1)).toMatchObject({ lease: null });
    await world.untilEnd(batch);
    expect(await world.stores.chats.get('ws_1', 1)).toMatchObject({ lease: null, messageCount: 2 });
  });
});

describe('a reply that the model breaks off', () => {
  const broken = { text: 'Half a', error: new ModelFailure('failed', 'Connection reset') };

  it.each([
    [2, { status: 'success', response_content: 'Question 0' }],
    [3, { status: 'failed', error_message: 'Stream timed out' }],
  ])('may be silence until the idle timeout, %i times', async (times, result) => {
    const world = batchWorld();
    world.model.replyTo = (message, attempt) => (attempt <= times ? 'silence' : message);
    const callTimes = timesOfCalls(world);
    const batch = await world.create(1);
    await world.untilEnd(batch);
    expect(await world.results(batch)).toMatchObject([result]);
    expect(callTimes).toHaveLength(3);
    expect(callTimes[1]).toBeGreaterThanOrEqual(93);
  });

  it('is counted apart from a busy model', async () => {
    const world = batchWorld();
    world.model.replyTo = (message, attempt) => {
      if (attempt > 8) return message;
      return [3, 6].includes(attempt) ? broken : throttled();
    };
    const batch = await world.create(1);
    await world.untilEnd(batch);
    expect(await world.read(batch)).toMatchObject({ completed: 1 });
  });
});

it('a request whose reply can never be stored fails with its tenth attempt', async () => {
  const world = batchWorld();
  const { put } = world.stores.messages;
  let failures = 0;
  world.services.messages.put = async (chat, message) => {
    if (message.content !== 'Question 0') return put(chat, message);
    failures += 1;
    throw new Error('The table is unavailable');
  };
  const batch = await world.create(3);
  await world.run();
  expect((await world.results(batch)).map(({ status }) => status)).toEqual(['pending', 'success', 'success']);
  await world.untilEnd(batch, 2);
  expect(await world.results(batch)).toMatchObject([
    { status: 'failed', error_code: 500, error_message: 'The request could not be processed' },
    { status: 'success' },
    { status: 'success' },
  ]);
  expect(failures).toBe(10);
});

it('a request that kills its worker fails after ten lost attempts, and takes no other request with it', async () => {
  const world = batchWorld({ atOnce: 1 });
  // The worker dies at its first message after it has called the model with this request.
  world.state.diesAfter = (call) => call === 'messages.put' && world.model.calls.at(-1) === 'Question 1';
  const batch = await world.create(2);
  await world.untilEnd(batch);
  const results = await world.results(batch);
  expect(results.map(({ status }) => status)).toEqual(['success', 'failed']);
  expect(results[1]).toMatchObject({
    error_code: 500,
    error_message: 'The request could not be processed',
  });
});

it('the counts and results of an open batch are counted for many batches in the order of the list, without a read before the first take', async () => {
  const world = batchWorld();
  const batches = await Promise.all(Array.from({ length: 20 }, () => world.create(1)));
  world.services.batches.allItems = () => Promise.reject(new Error('No request has started'));
  expect(await countBatches(world.services, batches)).toEqual(batches);
});

it('a worker checks once more what may have changed since the creation, and fails only what has become invalid', async () => {
  const world = batchWorld();
  const { clock, state, stores } = world;
  await world.createHistory();
  state.files.set('notes', {
    ...{ uuid: 'notes', workspaceId: 'ws_1', name: 'notes.txt', contentType: 'text/plain', size: 1 },
    ...{ scope: 'ephemeral', createdAt: '2027-01-30T12:00:01.000Z', expiresAt: '2027-01-31T12:00:01.000Z' },
  });
  state.workspace.whitelistEnabled = true;
  for (const user of ['ada', 'bob']) state.whitelist.add(user);
  const requests = [
    ...[{}, { history_id: 1 }, { attached_file_uuids: ['notes'] }, { agent_id: 'other agent' }],
    ...[{ external_user_id: 'bob' }, {}],
  ];
  const batch = await world.create(requests.map((request) => ({ external_user_id: 'ada', ...request })));
  for (const index of [0, 1]) await stores.requestEraser.erase(batch, index);
  await clock.advance(2000);
  state.agents.delete('other agent');
  state.whitelist.delete('bob');
  await world.run();
  const invalid = (error_message: unknown, history_id: number | null = null) => ({
    ...{ status: 'failed', error_code: 400, error_message, history_id },
  });
  expect(await world.results(batch)).toMatchObject([
    invalid('The request was erased'),
    invalid('The request was erased', 1),
    invalid(expect.stringMatching(/^attached_file_uuids\[0\] has expired/)),
    invalid('Agent version not found'),
    invalid('external_user_id is not on the whitelist of this workspace'),
    { status: 'success' },
  ]);
  expect(
    (await stores.chats.page({ workspaceId: 'ws_1' }, { limit: 9, offset: 0, ascending: true })).total,
  ).toBe(2);
});
