import { describe, expect, it } from 'vitest';
import type { Batch } from '#domain/batches/batch.ts';
import { cancelBatch } from '#domain/batches/cancel-batch.ts';
import { type BatchWorld, batchWorld } from '#support/batch-world/batch-world.ts';
import { killOnce, positionsIn, secondsSince } from '#support/batch-world/interruptions.ts';

describe('dispatch-batch', () => {
  const dispatch = (world: BatchWorld, { id }: Batch, taskToken: string) =>
    world.functions.dispatch({ workspaceId: 'ws_1', batchId: id, taskToken });

  it.each(['batches.saveTaskToken', 'batches.enqueueFirst', 'batchQueue.send', 'batches.markFirstEnqueued'])(
    'enqueues every first request after it has died after %s',
    async (write) => {
      const world = batchWorld({ slots: 2 });
      const batch = await world.create(35);
      killOnce(world, write);
      await expect(dispatch(world, batch, 'first')).rejects.toThrow();
      await dispatch(world, batch, 'second');
      expect(await world.read(batch)).toMatchObject({ taskToken: 'second', groupsSent: 2, slots: 2 });
      const sent = new Set(positionsIn(world).flat());
      expect([...sent]).toEqual(Array.from({ length: 20 }, (_, position) => position));
    },
  );

  it('completes its callback at once if no work is left', async () => {
    const world = batchWorld();
    const completed: string[] = [];
    world.services.batchWorkflow.completeTaskCallback = async (token) => completed.push(token) > 0;
    const batch = await world.create(1);
    await dispatch(world, batch, 'first');
    expect(completed).toEqual([]);
    await world.deliver();
    // The worker of the last request.
    expect(completed).toEqual(['first']);
    await dispatch(world, batch, 'second');
    expect(completed).toEqual(['first', 'second']);
    await world.functions.advance({ workspaceId: 'ws_1', batchId: batch.id });
    await dispatch(world, batch, 'third');
    expect(completed).toEqual(['first', 'second', 'third']);
    // Its workspace was deleted.
    await dispatch(world, { ...batch, id: 'unknown' }, 'fourth');
    expect(completed).toEqual(['first', 'second', 'third', 'fourth']);
  });

  it('is awaited with its newest token, also by a worker that has read an older one', async () => {
    const world = batchWorld();
    const batch = await world.create(1);
    await world.workflow.step(world.functions);
    const { replyTo } = world.model;
    world.model.replyTo = (message, attempt) => {
      const [execution] = world.workflow.executions.values();
      if (execution !== undefined) execution.taskToken = 'newest token';
      void world.stores.batches.saveTaskToken(batch, 'newest token');
      return replyTo(message, attempt);
    };
    const { recordOutcomes } = world.stores.batches;
    // The worker's last write was not done: it has the batch as it was read at first.
    world.services.batches.recordOutcomes = async (read, outcomes) => {
      await recordOutcomes(read, outcomes);
      return { ...read, completed: 1 };
    };
    await world.deliver();
    expect([...world.workflow.executions.values()].map(({ state }) => state)).toEqual(['check']);
  });

  it('completes its callback at once if the requests in work of a stopped batch are abandoned', async () => {
    const world = batchWorld();
    const batch = await world.create(2);
    await world.workflow.step(world.functions);
    killOnce(world, 'batches.claimItems');
    await world.deliver();
    await world.stores.batches.cancel(batch, batch.createdAt);
    const completed: string[] = [];
    world.services.batchWorkflow.completeTaskCallback = async (token) => completed.push(token) > 0;
    await world.clock.advance(30_000);
    await dispatch(world, batch, 'lease not over');
    await world.clock.advance(1);
    await dispatch(world, batch, 'lease over');
    expect(completed).toEqual(['lease over']);
  });

  it('enqueues nothing of a stopped batch', async () => {
    const world = batchWorld();
    const batch = await world.create(12);
    await cancelBatch(world.services)('ws_1', batch.id, async () => undefined);
    await dispatch(world, batch, 'first');
    expect(world.queue.messages).toEqual([]);
  });

  it('enqueues what a worker took and did not send, when the last slot was given back', async () => {
    const world = batchWorld({ slots: 1 });
    const batch = await world.create(15);
    await world.workflow.step(world.functions);
    // The write was done, but no response came: its worker gives the slot back.
    const { takeGroups } = world.stores.batches;
    world.services.batches.takeGroups = async (...input) => {
      await takeGroups(...input);
      return undefined;
    };
    await world.deliver();
    world.services.batches.takeGroups = takeGroups;
    expect(await world.read(batch)).toMatchObject({ groupsSent: 2, slots: 0 });
    await world.run();
    expect(await world.read(batch)).toMatchObject({ status: 'completed', completed: 15, slots: 0 });
    expect(secondsSince(world, batch)).toBe(0);
  });
});
