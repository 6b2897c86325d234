import { describe, expect, it, test } from 'vitest';
import { takeTurns } from '#domain/batches/attempt-request.ts';
import type { Slot } from '#domain/batches/batch.ts';
import { reconcileBatches } from '#domain/batches/reconcile-batches.ts';
import { type BatchWorld, batchWorld } from '#support/batch-world/batch-world.ts';

const minute = 60_000;

/** The next worker dies after it has claimed requests. */
function killAfterClaim({ state }: BatchWorld): void {
  state.diesAfter = (call) => {
    if (call !== 'batches.claim') return false;
    state.diesAfter = undefined;
    return true;
  };
}

const slotsInQueue = ({ queue }: BatchWorld) => queue.messages.map(({ body }) => [body.batchId, body.slot]);

describe('the slots of a batch', () => {
  it('are as many as have places for its requests, and at most the share of the workspace', async () => {
    const world = batchWorld({ slots: 15 });
    const [one, two] = [await world.create(25), await world.create(26)];
    await world.create(1000);
    await world.workflow.step(world.functions);
    expect(Map.groupBy(slotsInQueue(world), ([id]) => id).size).toBe(3);
    expect(slotsInQueue(world).filter(([id]) => id === one.id)).toEqual([[one.id, 1]]);
    expect(slotsInQueue(world).filter(([id]) => id === two.id)).toHaveLength(2);
    expect(slotsInQueue(world)).toHaveLength(8);
  });

  it('become more when another batch of the workspace has ended', async () => {
    const world = batchWorld({ slots: 4 });
    const [large, small] = [await world.create(200), await world.create(1)];
    await world.workflow.step(world.functions);
    expect(Object.keys((await world.read(large)).slots)).toEqual(['1', '2']);
    world.queue.messages.sort(({ body }) => (body.batchId === small.id ? -1 : 1));
    await world.deliver(1);
    await world.workflow.step(world.functions);
    expect((await world.read(small)).status).toBe('completed');
    expect(Object.keys((await world.read(large)).slots)).toEqual(['1', '2', '3', '4']);
    await world.untilEnd(large);
    expect(await world.read(large)).toMatchObject({ completed: 200, slots: {} });
  });

  it('are handed back after a beat if messages wait in the queue', async () => {
    const world = batchWorld({ slots: 1, requestsPerWorker: 1 });
    world.services.random = () => 0;
    world.model.replyTo = () => 'silence';
    const batch = await world.create(100);
    await world.workflow.step(world.functions);
    const work = world.deliver(1);
    await world.clock.advance(1000);
    await world.queue.send([{ workspaceId: 'ws_2', batchId: 'other', slot: 1, epoch: 0 }]);
    await world.clock.advance(5000);
    world.model.replyTo = (message) => message;
    await world.advanceDuring(work, 1000);
    // It has taken twenty requests, and none after the beat.
    expect((await world.read(batch)).slots[1]).toMatchObject({ owner: null, takes: 1 });
  });
});

describe('a slot that has lost its worker', () => {
  it('passes it on if it has ended before it has read what is left', async () => {
    const world = batchWorld({ slots: 1 });
    const { clock, services } = world;
    const batch = await world.create(12);
    killAfterClaim(world);
    await world.run();
    const { get } = services.workspaces;
    services.workspaces.get = async (workspaceId) => {
      services.workspaces.get = get;
      // It takes requests for 300 s at most.
      await clock.advance(5 * minute);
      return get(workspaceId);
    };
    await world.untilEnd(batch);
    expect(await world.read(batch)).toMatchObject({ completed: 12, failed: 0 });
  });

  it('calls no model for a request that it takes over while another worker acquires the slot', async () => {
    const world = batchWorld({ slots: 1 });
    const { services, stores, clock } = world;
    const batch = await world.create(1);
    killAfterClaim(world);
    await world.run();
    const { replaceItem } = services.batches;
    services.batches.replaceItem = async (...change) => {
      services.batches.replaceItem = replaceItem;
      const isTaken = await replaceItem(...change);
      const { epoch } = (await world.read(batch)).slots[1] as Slot;
      const until = clock.now().getTime() + 30_000;
      await stores.batches.acquire(batch, { number: 1, epoch }, { name: 'other', until });
      // The beat finds that the slot is lost.
      await clock.advance(6000);
      return isTaken;
    };
    await clock.advance(2 * minute);
    await world.reconcile();
    await world.deliver();
    expect(world.model.calls).toEqual([]);
    await world.untilEnd(batch);
    expect(world.model.calls).toEqual(['Question 0']);
  });

  it('restarts a lost execution with its last request, without the reconciler', async () => {
    const world = batchWorld();
    const { clock, state, workflow } = world;
    state.reconciles = false;
    const batch = await world.create(2);
    await workflow.step(world.functions);
    for (const execution of workflow.executions.values()) execution.state = 'ended';
    await world.untilEnd(batch);
    expect(clock.now().getTime() - Date.parse(batch.createdAt)).toBeLessThanOrEqual(1000);
    expect([...workflow.executions.keys()]).toEqual([`${batch.id}-1`, `${batch.id}-2`]);
  });
});

describe('the reconciler', () => {
  it('reads one item of a batch that works', async () => {
    const world = batchWorld({ slots: 1 });
    world.model.replyTo = () => 'silence';
    await world.create(20);
    await world.workflow.step(world.functions);
    const work = world.deliver();
    await world.clock.advance(1000);
    const reads: string[] = [];
    const { batches } = world.services;
    world.services.batches = new Proxy(batches, {
      get(target, name: keyof typeof batches) {
        reads.push(name);
        return target[name];
      },
    });
    await world.reconcile();
    // The other one is the number of open batches, for the share.
    expect(reads).toEqual(['get', 'countOpen']);
    world.services.batches = batches;
    world.model.replyTo = (message) => message;
    await world.advanceDuring(work, 10_000);
  });

  it('offers a silent slot also if the webhooks of another workspace fill its time', async () => {
    const world = batchWorld({ slots: 1 });
    const { clock, services, stores, queue } = world;
    await world.create(1);
    killAfterClaim(world);
    await world.run();
    const entry = { workspaceId: 'ws_2', due: 'none' };
    for (let index = 0; index < 100; index += 1)
      await stores.reconciliationIndex.moveWebhook(
        { ...entry, batchId: `ended ${index}` },
        clock.now().toISOString(),
      );
    await clock.advance(2 * minute);
    services.deliveries.get = async () => {
      await clock.advance(10_000);
      return undefined;
    };
    await world.reconcile();
    expect(queue.messages).toHaveLength(1);
  });

  it('counts overdue batches and the longest wait, and one that fails hides no other', async () => {
    const world = batchWorld({ timeout: 10 * minute });
    const { clock, services } = world;
    const found = () => reconcileBatches(services);
    expect(await found()).toEqual({ overdue: 0, oldestWait: 0 });
    const first = await world.create(2);
    await clock.advance(5 * minute);
    await world.create(2);
    expect(await found()).toEqual({ overdue: 0, oldestWait: 5 * minute });
    const { get } = world.stores.batches;
    services.batches.get = (workspaceId, id) => {
      if (id === first.id) throw new Error('out of reach');
      return get(workspaceId, id);
    };
    await clock.advance(26 * minute);
    expect(await found()).toMatchObject({ overdue: 1 });
    services.batches.get = get;
  });
});

test('one item of each source is taken in turn, until all are empty or have failed', async () => {
  const errors: unknown[] = [];
  const all = (sources: Parameters<typeof takeTurns<number>>[0]) =>
    Array.fromAsync(takeTurns(sources, (error) => errors.push(error)));
  const values = (...numbers: number[]) => numbers.values();
  expect(await all([values(1, 2, 3, 4), values(), values(5), values(6, 7)])).toEqual([1, 5, 6, 2, 7, 3, 4]);
  const throttled = new Error('Throttled');
  function* failing<Value>(...before: Value[]): Generator<Value, undefined> {
    yield* before;
    throw throttled;
  }
  expect(await all(failing<Iterator<number>>(values(1, 2), failing(3), values(4, 5)))).toEqual([
    1, 3, 4, 2, 5,
  ]);
  expect(errors).toEqual([throttled, throttled]);
});
