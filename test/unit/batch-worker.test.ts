import { describe, expect, it } from 'vitest';
import type { Batch } from '#domain/batches/batch.ts';
import { ModelFailure } from '#domain/platform/model-failure.ts';
import { type BatchWorld, batchWorld } from '#support/batch-world/batch-world.ts';
import { positionsIn } from '#support/batch-world/interruptions.ts';
import { seededRandom } from '#support/seeded-random.ts';

const second = 1000;

interface Load {
  running: number;
  most: number;
}

/** A model that takes its time for each reply. */
function slowModel(world: BatchWorld, millisecondsOf: (message: string) => number): Load {
  const load = { running: 0, most: 0 };
  world.model.runtime.onReply = (reply) => {
    const { message } = reply.request;
    world.model.calls.push(message);
    load.running += 1;
    load.most = Math.max(load.most, load.running);
    const endCall = reply.startCall();
    world.clock.after(millisecondsOf(message), () => {
      load.running -= 1;
      reply.text(`Reply to ${message}`);
      endCall();
      reply.end();
    });
  };
  return load;
}

/** The number of requests of each claim. */
function sizesOfClaims(world: BatchWorld): number[] {
  const sizes: number[] = [];
  const { claimItems } = world.stores.batches;
  world.services.batches.claimItems = async (batch, claims, lease) => {
    if (claims.length > 0) sizes.push(claims.length);
    return claimItems(batch, claims, lease);
  };
  return sizes;
}

async function dispatched(total: number, settings: Parameters<typeof batchWorld>[0]) {
  const world = batchWorld(settings);
  const batch = await world.create(total);
  await world.workflow.step(world.functions);
  return { world, batch };
}

/** Delivers until nothing is left; workers run at the same time. The clock moves in steps. */
async function work(world: BatchWorld, batch: Batch, step = 250): Promise<number> {
  const start = world.clock.now().getTime();
  const workers: Promise<unknown>[] = [];
  while ((await world.read(batch)).status !== 'completed') {
    if (world.clock.now().getTime() - start > 3600 * second) throw new Error('The batch has not ended');
    workers.push(world.deliver());
    await world.workflow.step(world.functions);
    await world.clock.advance(step);
  }
  await Promise.all(workers);
  return (world.clock.now().getTime() - start) / second;
}

const once = (world: BatchWorld, total: number): void => {
  expect(world.model.calls.toSorted()).toEqual(
    Array.from({ length: total }, (_, index) => `Question ${index}`).toSorted(),
  );
};

describe('a worker', () => {
  it('processes as many requests at once as it is wide, and claims two groups when its buffer is empty', async () => {
    const { world, batch } = await dispatched(205, { slots: 1, requestsPerWorker: 25 });
    const load = slowModel(world, () => 2 * second);
    const sizes = sizesOfClaims(world);
    await work(world, batch);
    expect(load.most).toBe(25);
    // Its message and two groups are as many as it can start.
    expect(sizes).toEqual([30, 20, 20, 20, 20, 20, 20, 20, 20, 15]);
    once(world, 205);
  });

  it('is busy while requests are left, whatever their times', async () => {
    const { world, batch } = await dispatched(1000, { slots: 15, requestsPerWorker: 25 });
    const seed = 7;
    const random = seededRandom(seed);
    const timeOf = new Map(world.model.calls.map((message) => [message, 0]));
    const load = slowModel(world, (message) => {
      const time = 100 * Math.ceil(5 + 40 * random() ** 2);
      timeOf.set(message, time);
      return time;
    });
    const seconds = await work(world, batch, 100);
    once(world, 1000);
    expect(load.most).toBe(375);
    const times = [...timeOf.values()];
    const ideal = (times.reduce((sum, time) => sum + time, 0) / 375 + Math.max(...times)) / second;
    expect(seconds / ideal, `seed ${seed}`).toBeLessThan(1.1);
  });

  it('starts no second request of a history before the first has ended, and claims it itself', async () => {
    const world = batchWorld({ slots: 1 });
    const chat = { workspaceId: 'ws_1', agentId: 'agent', name: 'History', externalUserId: null };
    await world.stores.chats.create(chat);
    const batch = await world.create(Array.from({ length: 5 }, () => ({ history_id: 1 })));
    const load = slowModel(world, () => 3 * second);
    await world.workflow.step(world.functions);
    const worker = world.deliver();
    await world.clock.advance(0);
    await world.advanceDuring(worker);
    expect(load.most).toBe(1);
    expect(world.model.calls).toEqual([0, 1, 2, 3, 4].map((index) => `Question ${index}`));
    expect(await world.read(batch)).toMatchObject({ completed: 5, slots: 0 });
  });

  it('claims a request once that follows in a history and is in a group that it takes', async () => {
    const world = batchWorld({ slots: 1, requestsPerWorker: 10 });
    const chat = { workspaceId: 'ws_1', agentId: 'agent', name: 'History', externalUserId: null };
    await world.stores.chats.create(chat);
    const batch = await world.create(
      Array.from({ length: 50 }, (_, index) => (index === 9 || index === 25 ? { history_id: 1 } : {})),
    );
    slowModel(world, () => second);
    const sizes = sizesOfClaims(world);
    await world.workflow.step(world.functions);
    await world.advanceDuring(world.deliver());
    // The second claim is one group, which contains request 25.
    expect(sizes).toEqual([20, 10, 20]);
    expect(await world.read(batch)).toMatchObject({ completed: 50, slots: 0 });
  });

  it('takes no group beside the next request of a history while its buffer is not empty', async () => {
    const world = batchWorld({ slots: 1, requestsPerWorker: 10 });
    const chat = { workspaceId: 'ws_1', agentId: 'agent', name: 'History', externalUserId: null };
    await world.stores.chats.create(chat);
    const batch = await world.create(
      Array.from({ length: 50 }, (_, index) => (index % 10 === 0 ? { history_id: 1 } : {})),
    );
    slowModel(world, (message) => (message === 'Question 0' ? 1 : 2) * second);
    const sizes = sizesOfClaims(world);
    await world.workflow.step(world.functions);
    await world.advanceDuring(world.deliver());
    // Requests 10, 20, 30 and 40 are claimed alone.
    expect(sizes).toEqual([19, 1, 18, 1, 9, 1, 1]);
    expect(await world.read(batch)).toMatchObject({ completed: 50, slots: 0 });
  });

  it('takes nothing beside a request that has lost a worker, and may have killed it', async () => {
    const { world, batch } = await dispatched(30, { slots: 1 });
    world.state.killer = { diesAfter: (write) => write === 'batches.claimItems' };
    await world.deliver();
    world.state.killer = null;
    await world.clock.advance(33 * second);
    await world.reconcile();
    const sizes = sizesOfClaims(world);
    await world.deliver(1);
    expect(sizes).toEqual([10]);
    await world.run();
    expect(await world.read(batch)).toMatchObject({ status: 'completed', completed: 30, slots: 0 });
  });

  it('takes nothing while its model is busy, and all that is left when it has recovered', async () => {
    const { world, batch } = await dispatched(100, { slots: 1, requestsPerWorker: 10 });
    let isBusy = true;
    world.model.replyTo = (message) => (isBusy ? new ModelFailure('throttled', 'Busy') : message);
    await world.run();
    const { groupsSent } = await world.read(batch);
    for (let round = 0; round < 2; round += 1) {
      await world.clock.advance(60 * second);
      await world.run();
    }
    expect(await world.read(batch)).toMatchObject({ groupsSent, slots: 1 });
    isBusy = false;
    await world.runUntil(async () => (await world.read(batch)).status === 'completed');
    expect(await world.read(batch)).toMatchObject({ completed: 100, slots: 0 });
  });

  it('enqueues what it has taken if the claim fails', async () => {
    const { world, batch } = await dispatched(60, { slots: 1, requestsPerWorker: 10 });
    const { claimItems } = world.stores.batches;
    let claims = 0;
    world.services.batches.claimItems = async (...claim) => {
      claims += 1;
      if (claims === 2) throw new Error('The table is unavailable');
      return claimItems(...claim);
    };
    await world.deliver(1);
    expect(positionsIn(world).flat()).toEqual(Array.from({ length: 20 }, (_, index) => 20 + index));
    expect(await world.read(batch)).toMatchObject({ slots: 1, groupsSent: 4 });
    await world.run();
    expect(await world.read(batch)).toMatchObject({ status: 'completed', completed: 60, slots: 0 });
    once(world, 60);
  });

  it('stops taking when the workspace is disabled, and ends the requests that it has claimed', async () => {
    const { world, batch } = await dispatched(60, { slots: 1, requestsPerWorker: 10 });
    slowModel(world, () => 2 * second);
    const worker = world.deliver();
    await world.clock.advance(0);
    world.state.workspace.enabled = false;
    await world.advanceDuring(worker);
    await world.run();
    const { status, completed, failed } = await world.read(batch);
    expect([status, completed, failed]).toEqual(['failed', 20, 40]);
  });
});

describe('a worker that hands back', () => {
  const slow = { slots: 1, requestsPerWorker: 2 };

  it('does so after a minute: what it has not started goes on with its slot, the rest ends', async () => {
    const { world, batch } = await dispatched(40, slow);
    slowModel(world, () => 70 * second);
    const worker = world.deliver();
    await world.clock.advance(0);
    await world.clock.advance(34 * second);
    expect(positionsIn(world)).toHaveLength(1);
    expect(await world.stores.batches.allItems(batch)).toHaveLength(20);
    await world.clock.advance(26 * second);
    const handedBack = world.queue.messages
      .slice(1)
      .map(({ body }) => [body.positions.length, body.holdsPlace]);
    expect(handedBack).toEqual([
      [10, true],
      [8, false],
    ]);
    const items = await world.stores.batches.allItems(batch);
    expect(items.filter(({ status }) => status === 'processing')).toHaveLength(2);
    expect(items.filter(({ status }) => status === 'waiting')).toHaveLength(18);
    expect(new Set(items.map(({ attempt }) => attempt))).toEqual(new Set([1]));
    expect(await world.read(batch)).toMatchObject({ slots: 1 });
    await world.advanceDuring(worker, second);
    await work(world, batch, second);
    once(world, 40);
    expect(await world.read(batch)).toMatchObject({ completed: 40, failed: 0, slots: 0 });
  });

  it('sends the next group if it has nothing to release', async () => {
    const { world, batch } = await dispatched(60, { slots: 1, requestsPerWorker: 10 });
    world.model.replyTo = () => new ModelFailure('throttled', 'Busy');
    await world.deliver();
    await world.clock.advance(4 * second);
    slowModel(world, () => 70 * second);
    // A worker of retries takes nothing before one of them has succeeded.
    const worker = world.deliver(1);
    await world.clock.advance(0);
    expect(await world.read(batch)).toMatchObject({ slots: 1, groupsSent: 2 });
    await world.clock.advance(60 * second);
    expect(positionsIn(world).at(-1)).toEqual([20, 21, 22, 23, 24, 25, 26, 27, 28, 29]);
    expect(await world.read(batch)).toMatchObject({ slots: 1, groupsSent: 3 });
    await world.advanceDuring(worker, second);
    await work(world, batch, second);
    expect(await world.read(batch)).toMatchObject({ completed: 60, failed: 0, slots: 0 });
  });

  it('does so within 5 s if messages wait in the queue, and not if they are only in work', async () => {
    const { world, batch } = await dispatched(40, slow);
    slowModel(world, () => 30 * second);
    const worker = world.deliver();
    await world.clock.advance(6 * second);
    expect(world.queue.messages).toHaveLength(1);
    const other = { workspaceId: 'ws_2', batchId: 'other', positions: [0], holdsPlace: true };
    await world.queue.send([other]);
    await world.clock.advance(5 * second);
    expect(world.queue.messages.length).toBeGreaterThan(2);
    world.queue.messages.splice(1, 1);
    await world.advanceDuring(worker, second);
    await work(world, batch, second);
    once(world, 40);
  });

  it('lets another worker of the workspace keep on, if it has many', async () => {
    const { world, batch } = await dispatched(1000, { slots: 15, requestsPerWorker: 10 });
    slowModel(world, () => 20 * second);
    const workers = world.deliver();
    await world.clock.advance(0);
    const other = { workspaceId: 'ws_2', batchId: 'other', positions: [0], holdsPlace: true };
    await world.queue.send([other]);
    await world.clock.advance(5 * second);
    const waiting = (await world.stores.batches.allItems(batch)).filter(({ status }) => status === 'waiting');
    // About four of fifteen: all fifteen once in 10 ** 8 runs.
    expect(new Set(waiting.map(({ worker }) => worker)).size).toBeLessThan(15);
    world.queue.messages.splice(
      world.queue.messages.findIndex(({ body }) => body.batchId === 'other'),
      1,
    );
    await world.advanceDuring(workers, second);
    await work(world, batch, second);
    once(world, 1000);
  });
});

describe('a request that waits in the buffer of a worker', () => {
  it('keeps its lease', async () => {
    const { world, batch } = await dispatched(10, { slots: 1, requestsPerWorker: 1 });
    slowModel(world, () => 35 * second);
    const worker = world.deliver();
    await world.clock.advance(34 * second);
    const now = world.clock.now().getTime();
    const items = await world.stores.batches.allItems(batch);
    expect(items).toHaveLength(10);
    expect(items.filter(({ leaseUntil }) => leaseUntil <= now)).toEqual([]);
    await world.advanceDuring(worker, second);
    await work(world, batch, second);
    once(world, 10);
  });

  it('is left to another worker that has claimed it', async () => {
    const { world, batch } = await dispatched(3, { slots: 1, requestsPerWorker: 1 });
    slowModel(world, () => 25 * second);
    const worker = world.deliver();
    await world.clock.advance(0);
    const [, , last] = await world.stores.batches.items(batch, [0, 1, 2]);
    if (last === undefined) throw new Error('The request was not claimed');
    await world.stores.batches.scheduleRetry(batch, last, 0);
    await world.advanceDuring(worker, second);
    expect(world.model.calls).toEqual(['Question 0', 'Question 1']);
  });
});
