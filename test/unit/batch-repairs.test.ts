import { describe, expect, it } from 'vitest';
import type { Batch } from '#domain/batches/batch.ts';
import { cancelBatch } from '#domain/batches/cancel-batch.ts';
import { ModelFailure } from '#domain/platform/model-failure.ts';
import { type BatchWorld, batchWorld } from '#support/batch-world/batch-world.ts';
import { killOnce, positionsIn, secondsSince } from '#support/batch-world/interruptions.ts';

const untilEnd = (world: BatchWorld, batch: Batch) =>
  world.runUntil(async () => (await world.read(batch)).status === 'completed');

const endExecutions = ({ workflow }: BatchWorld): void => {
  for (const execution of workflow.executions.values()) execution.state = 'ended';
};

/** Runs the reconciler once after this time. */
async function reconcileAfter(world: BatchWorld, seconds: number): Promise<void> {
  await world.clock.advance(seconds * 1000);
  await world.reconcile();
}

const createHistory = ({ stores }: BatchWorld) =>
  stores.chats.create({
    ...{ workspaceId: 'ws_1', agentId: 'agent', name: 'History', externalUserId: null },
  });

describe('the execution of a batch', () => {
  it('is started if it never was, under its own name', async () => {
    const world = batchWorld();
    killOnce(world, 'batches.create');
    await expect(world.create(2)).rejects.toThrow();
    expect(world.workflow.executions.size).toBe(0);
    await world.reconcile();
    expect([...world.workflow.executions.keys()]).toEqual(['batch-001-1']);
    await world.run();
    expect(world.model.calls).toHaveLength(2);
  });

  it('gets no successor while it runs', async () => {
    const world = batchWorld();
    const batch = await world.create(2);
    await world.workflow.step(world.functions);
    for (let run = 0; run < 3; run += 1) await reconcileAfter(world, 60);
    expect(await world.read(batch)).toMatchObject({ executionNumber: 1 });
  });

  it('gets one successor if it has ended before its batch, also from reconcilers at the same time', async () => {
    const world = batchWorld();
    const batch = await world.create(2);
    await world.workflow.step(world.functions);
    endExecutions(world);
    await Promise.all([world.reconcile(), world.reconcile(), world.reconcile()]);
    expect([...world.workflow.executions.keys()]).toEqual(['batch-001-1', 'batch-001-2']);
    await untilEnd(world, batch);
    expect(await world.read(batch)).toMatchObject({ executionNumber: 2, completed: 2, failed: 0 });
  });

  it.each([
    // A successor that was never started: its start enqueues everything once more.
    ['batches.incrementExecutionNumber', 120],
    // A successor that runs: its requests are lost 45 s after a check.
    ['batchWorkflow.start', 180],
    ['batches.requeueAll', 180],
  ])(
    'is started by the next run if the reconciler has died after %s: %i s in all',
    async (write, seconds) => {
      const world = batchWorld();
      const batch = await world.create(2);
      await world.workflow.step(world.functions);
      world.queue.messages.length = 0;
      endExecutions(world);
      killOnce(world, write);
      await untilEnd(world, batch);
      expect(secondsSince(world, batch)).toBe(seconds);
      expect(await world.read(batch)).toMatchObject({ executionNumber: 2, completed: 2, failed: 0 });
    },
  );

  it('may be lost together with the queue: everything that could be started is enqueued', async () => {
    const world = batchWorld({ slots: 3 });
    for (let history = 1; history <= 2; history += 1) await createHistory(world);
    world.model.replyTo = (message, attempt) => {
      if (message === 'Question 0') return 'silence';
      return message === 'Question 11' && attempt < 4 ? new ModelFailure('throttled', 'Busy') : message;
    };
    const batch = await world.create(
      Array.from({ length: 45 }, (_, position) => {
        if ([12, 40].includes(position)) return { history_id: 1 };
        return [21, 25].includes(position) ? { history_id: 2 } : {};
      }),
    );
    await world.workflow.step(world.functions);
    // The first request is in work, another one waits for a retry, a group is not claimed, two are not enqueued.
    const work = world.deliver(2);
    await world.clock.advance(0);
    await world.clock.advance(1000);
    world.queue.messages.length = 0;
    endExecutions(world);
    await world.reconcile();
    // Not: the one whose worker seems to live; 25, which follows 21; and 40, which comes with its group.
    expect(positionsIn(world)).toEqual([[11], [20, 21, 22, 23, 24, 26, 27, 28, 29]]);
    expect(world.state.errors.filter((error) => !(error instanceof ModelFailure))).toEqual([]);
    const delays = world.queue.messages.map(
      ({ visibleAt }) => (visibleAt - world.clock.now().getTime()) / 1000,
    );
    expect(delays).toEqual([3, 0]);
    await world.advanceDuring(work, 10_000);
    world.model.replyTo = (message) => message;
    await untilEnd(world, batch);
    expect(await world.read(batch)).toMatchObject({ completed: 45, failed: 0 });
  });

  it('may be lost together with the queue twice: the slots of lost messages are given up', async () => {
    const world = batchWorld({ slots: 1 });
    const batch = await world.create(75);
    await world.workflow.step(world.functions);
    killOnce(world, 'batches.claimItems');
    await world.deliver();
    // The claimed requests of the dead worker get several messages, each with a slot. The queue loses them.
    await reconcileAfter(world, 33);
    expect(await world.read(batch)).toMatchObject({ groupsSent: 3, slots: 3 });
    killOnce(world, 'batches.claimItems');
    await world.deliver(1);
    world.queue.messages.length = 0;
    endExecutions(world);
    await reconcileAfter(world, 1);
    // One of the last dead worker, and two of messages: the other 20 requests are enqueued once more.
    expect(await world.read(batch)).toMatchObject({ groupsSent: 3, slots: 3 });
    await untilEnd(world, batch);
    expect(secondsSince(world, batch)).toBeLessThanOrEqual(120);
    expect(await world.read(batch)).toMatchObject({ completed: 75, failed: 0, slots: 0 });
  });
});

describe('requests whose message is with a dead worker', () => {
  /** The only message of the batch is hidden. */
  async function withHiddenMessage() {
    const world = batchWorld();
    const batch = await world.create(2);
    await world.workflow.step(world.functions);
    const { get } = world.services.workspaces;
    world.services.workspaces.get = async () => {
      throw new Error('The table is unavailable');
    };
    await world.deliver();
    world.services.workspaces.get = get;
    return { world, batch };
  }

  it('are enqueued once more 45 s after the reconciler saw that they were enqueued', async () => {
    const { world, batch } = await withHiddenMessage();
    await reconcileAfter(world, 30);
    await reconcileAfter(world, 44);
    expect(world.queue.messages).toHaveLength(1);
    await reconcileAfter(world, 45);
    expect(positionsIn(world)).toEqual([
      [0, 1],
      [0, 1],
    ]);
    await world.run();
    expect(await world.read(batch)).toMatchObject({ status: 'completed', completed: 2, slots: 0 });
  });

  it('are enqueued once more after 90 s if the queue has other messages', async () => {
    const { world } = await withHiddenMessage();
    const other = { workspaceId: 'ws_2', batchId: 'other', positions: [0], holdsPlace: true };
    await world.queue.send([other]);
    await reconcileAfter(world, 60);
    await reconcileAfter(world, 60);
    await reconcileAfter(world, 29);
    expect(world.queue.messages).toHaveLength(2);
    await reconcileAfter(world, 1);
    expect(world.queue.messages).toHaveLength(3);
  });
});

describe('groups that a dead worker has taken but not claimed', () => {
  it('are enqueued while other workers go on, also if the queue has other messages', async () => {
    const world = batchWorld({ slots: 2 });
    world.model.replyTo = (message) => (message === 'Question 15' ? 'silence' : message);
    const batch = await world.create(65);
    await world.workflow.step(world.functions);
    killOnce(world, 'batches.takeGroups');
    await world.deliver(1);
    const other = { workspaceId: 'ws_2', batchId: 'other', positions: [0], holdsPlace: true };
    await world.queue.send([other]);
    const [hidden, second] = world.queue.messages;
    expect([hidden?.deliveries, second?.deliveries]).toEqual([1, 0]);
    const work = world.deliver(1);
    await world.clock.advance(1000);
    // The dead worker had the first group as its message, and had taken the third and the fourth one.
    expect(
      (await world.stores.batches.allItems(batch)).map(({ requestIndex }) => requestIndex),
    ).not.toContain(25);
    await reconcileAfter(world, 60);
    expect(positionsIn(world).flat()).not.toContain(25);
    await world.clock.advance(5000);
    await reconcileAfter(world, 90);
    expect(positionsIn(world).flat()).toEqual(expect.arrayContaining([5, 25, 35]));
    await world.advanceDuring(work, 10_000);
    await world.queue.deliver(world.workers, 0);
    world.model.replyTo = (message) => message;
    await untilEnd(world, batch);
    expect(await world.read(batch)).toMatchObject({ completed: 65, failed: 0 });
  });
});

describe('claimed requests whose worker has died', () => {
  it('are enqueued once more when their leases have ended, alone after the second death', async () => {
    const world = batchWorld();
    const batch = await world.create(3);
    await world.workflow.step(world.functions);
    killOnce(world, 'batches.claimItems');
    await world.deliver();
    await reconcileAfter(world, 32);
    expect(world.queue.messages).toHaveLength(1);
    await reconcileAfter(world, 1);
    expect(positionsIn(world).slice(1)).toEqual([[0, 1, 2]]);
    expect(await world.read(batch)).toMatchObject({ slots: 1 });
    killOnce(world, 'batches.claimItems');
    await world.deliver();
    await reconcileAfter(world, 33);
    expect(positionsIn(world).slice(2)).toEqual([[0], [1], [2]]);
    expect(await world.read(batch)).toMatchObject({ slots: 3 });
    world.state.killer = null;
    await world.run();
    expect(await world.read(batch)).toMatchObject({ status: 'completed', completed: 3, slots: 0 });
  });

  it.each([
    { deaths: 9, completed: 1, failed: 0 },
    { deaths: 10, completed: 0, failed: 1 },
  ])('of $deaths workers: $failed of one ends as failed', async ({ deaths, ...ended }) => {
    const world = batchWorld();
    const batch = await world.create(1);
    await world.workflow.step(world.functions);
    for (let death = 1; death <= deaths; death += 1) {
      killOnce(world, 'batches.claimItems');
      await world.deliver();
      await reconcileAfter(world, 33);
    }
    world.state.killer = null;
    await untilEnd(world, batch);
    expect(await world.read(batch)).toMatchObject(ended);
  });

  it('give their slot to the next requests, also if all of them had ended', async () => {
    const world = batchWorld({ slots: 1 });
    const batch = await world.create(75);
    await world.workflow.step(world.functions);
    // The write that takes the next groups has been made, and their requests are not claimed.
    killOnce(world, 'usage.add');
    await world.deliver();
    expect(await world.read(batch)).toMatchObject({ slots: 1, groupsSent: 5 });
    await untilEnd(world, batch);
    expect(secondsSince(world, batch)).toBeLessThanOrEqual(180);
    expect(await world.read(batch)).toMatchObject({ completed: 75, failed: 0, slots: 0 });
  });

  it('have a slot as long as one of them waits for a retry', async () => {
    const world = batchWorld({ slots: 1 });
    world.model.replyTo = (message) =>
      message === 'Question 0' ? new ModelFailure('throttled', 'Busy', 300_000) : message;
    const batch = await world.create(25);
    await world.workflow.step(world.functions);
    await world.deliver();
    for (let run = 0; run < 4; run += 1) await reconcileAfter(world, 60);
    expect(await world.read(batch)).toMatchObject({ slots: 1, groupsSent: 3 });
    expect(world.queue.messages).toHaveLength(1);
  });
});

describe('requests that have a worker', () => {
  it('have their slots for a minute, and one of these goes on to the next group then', async () => {
    const world = batchWorld({ slots: 2 });
    world.model.replyTo = (message) => (/ \d$/.test(message) ? 'silence' : message);
    const batch = await world.create(25);
    await world.workflow.step(world.functions);
    const [first] = world.queue.messages;
    if (first !== undefined) first.deliveries = 1;
    // The first message is split into ten, and the second one gives its slot back.
    await world.deliver(2);
    const work = world.deliver();
    await world.clock.advance(0);
    await reconcileAfter(world, 1);
    await reconcileAfter(world, 33);
    expect(await world.read(batch)).toMatchObject({ slots: 10, groupsSent: 2 });
    expect(world.queue.messages).toHaveLength(10);
    await reconcileAfter(world, 27);
    expect(await world.read(batch)).toMatchObject({ slots: 1, groupsSent: 3 });
    expect(positionsIn(world).slice(10)).toEqual([[20, 21, 22, 23, 24]]);
    await world.advanceDuring(work, 10_000);
  });
});

describe('a request without a message', () => {
  it('that continues a history is enqueued when the one before it has ended a lease ago', async () => {
    const world = batchWorld();
    await createHistory(world);
    const batch = await world.create([{ history_id: 1 }, { history_id: 1 }]);
    await world.workflow.step(world.functions);
    killOnce(world, 'batches.finishItem');
    await world.deliver();
    await reconcileAfter(world, 30);
    expect(world.queue.messages).toHaveLength(1);
    await reconcileAfter(world, 1);
    expect(positionsIn(world).slice(1)).toEqual([[1]]);
    await world.run();
    expect(await world.read(batch)).toMatchObject({ status: 'completed', completed: 2 });
  });

  it('that waits for a retry is enqueued when it is overdue by a lease', async () => {
    const world = batchWorld();
    world.model.replyTo = (message, attempt) =>
      attempt === 1 ? new ModelFailure('throttled', 'Busy') : message;
    await world.create(1);
    await world.workflow.step(world.functions);
    killOnce(world, 'batches.scheduleRetry');
    await world.deliver();
    await reconcileAfter(world, 34);
    expect(world.queue.messages).toHaveLength(1);
    await reconcileAfter(world, 1);
    expect(positionsIn(world).slice(1)).toEqual([[0]]);
  });
});

describe('the index entry of a batch', () => {
  it('is removed if it has outlived its batch', async () => {
    const world = batchWorld();
    const batch = await world.create(1);
    const { reconciliationIndex } = world.stores;
    const entries = await reconciliationIndex.openBatches();
    await world.run();
    const removed: string[] = [];
    world.services.reconciliationIndex.openBatches = async () => entries;
    world.services.reconciliationIndex.removeOpenBatch = async ({ batchId }) => void removed.push(batchId);
    await world.reconcile();
    expect(removed).toEqual([batch.id]);
  });

  it('is not removed if its batch is not visible yet', async () => {
    const world = batchWorld();
    const batch = await world.create(1);
    const { get } = world.stores.batches;
    world.services.batches.get = async () => undefined;
    await world.reconcile();
    world.services.batches.get = get;
    expect(await world.stores.reconciliationIndex.openBatches()).toHaveLength(1);
    await untilEnd(world, batch);
  });

  it('makes a batch known that is open long after it has expired', async () => {
    const world = batchWorld({ timeout: 60_000 });
    await world.create(1);
    // No workflow runs.
    await reconcileAfter(world, 60 + 15 * 60);
    expect(world.state.overdue).toBe(0);
    await reconcileAfter(world, 1);
    expect(world.state.overdue).toBe(1);
  });
});

describe('the chat of a cancelled request', () => {
  it('is released if its worker died between the lease and its note', async () => {
    const world = batchWorld();
    await createHistory(world);
    const batch = await world.create([{ history_id: 1 }]);
    await world.workflow.step(world.functions);
    killOnce(world, 'chats.takeLease');
    await world.deliver();
    expect(await world.stores.chats.get('ws_1', 1)).toMatchObject({ lease: { id: 'batch:batch-001:0' } });
    await cancelBatch(world.services)('ws_1', batch.id, async () => undefined);
    await world.runUntil(async () => (await world.read(batch)).status === 'cancelled');
    expect(await world.stores.chats.get('ws_1', 1)).toMatchObject({ lease: null });
  });
});
