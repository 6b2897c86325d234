import { describe, expect, it } from 'vitest';
import type { Batch } from '#domain/batches/batch.ts';
import { batchWorld } from '#support/batch-world/batch-world.ts';

describe('the in-flight message slots', () => {
  it('limit the workers of a batch, which take its groups until none is left', async () => {
    const world = batchWorld({ slots: 2 });
    const batch = await world.create(95);
    await world.workflow.step(world.functions);
    expect(world.queue.messages).toHaveLength(2);
    expect(await world.read(batch)).toMatchObject({ slots: 2, groupsSent: 2 });
    await world.deliver(1);
    expect(world.queue.messages).toHaveLength(1);
    expect(world.model.calls).toHaveLength(85);
    expect(await world.read(batch)).toMatchObject({ slots: 1, groupsSent: 10, completed: 85 });
    await world.deliver(1);
    expect(world.queue.messages).toEqual([]);
    expect(await world.read(batch)).toMatchObject({ slots: 0, groupsSent: 10, completed: 95 });
    await world.run();
    expect((await world.read(batch)).status).toBe('completed');
  });

  it('are no more than a batch can use: one for two groups', async () => {
    const world = batchWorld({ slots: 15 });
    for (const total of [1, 20, 21, 300]) await world.create(total);
    await world.workflow.step(world.functions);
    const messagesOf = Map.groupBy(world.queue.messages, ({ body }) => body.batchId);
    expect([...messagesOf.values()].map((messages) => messages.length)).toEqual([1, 1, 2, 3]);
  });

  it('are shared by the open batches of a workspace, and grow when one of them has ended', async () => {
    const world = batchWorld({ slots: 4 });
    const [first, other] = [await world.create(200), await world.create(10)];
    await world.workflow.step(world.functions);
    const inQueue = (batch: Batch) =>
      world.queue.messages.filter(({ body }) => body.batchId === batch.id).length;
    // The first one is dispatched when both are open: two slots each, of which the other one needs one.
    expect([inQueue(first), inQueue(other)]).toEqual([2, 1]);
    world.queue.messages.reverse();
    await world.deliver(1);
    await world.workflow.step(world.functions);
    expect([inQueue(first), (await world.read(other)).status]).toEqual([2, 'completed']);
    await world.deliver(1);
    expect(inQueue(first)).toBe(3);
    await world.run();
    expect(await world.read(first)).toMatchObject({ status: 'completed', completed: 200, slots: 0 });
  });

  it('are given up by a batch whose share has shrunk', async () => {
    const world = batchWorld({ slots: 4 });
    const first = await world.create(100);
    await world.workflow.step(world.functions);
    await world.create(100);
    const states: number[][] = [];
    for (let round = 0; round < 3; round += 1) {
      await world.deliver(1);
      const { slots, groupsSent } = await world.read(first);
      states.push([slots, groupsSent]);
    }
    // Two workers end without further groups. The third one has a slot of the share, and takes all that are left.
    expect(states).toEqual([
      [3, 4],
      [2, 4],
      [1, 10],
    ]);
  });

  it('are given anew by the workflow after all workers have given theirs up at the same time', async () => {
    const world = batchWorld({ slots: 4 });
    const first = await world.create(100);
    await world.workflow.step(world.functions);
    await world.create(100);
    await world.deliver(4);
    expect(await world.read(first)).toMatchObject({ slots: 0, groupsSent: 4 });
    // The check of the batch, and the wait after it.
    await world.workflow.step(world.functions);
    await world.workflow.step(world.functions);
    expect(await world.read(first)).toMatchObject({ slots: 2, groupsSent: 6 });
  });

  it('are at least one for each batch', async () => {
    const world = batchWorld({ slots: 1 });
    const batches = [await world.create(20), await world.create(20), await world.create(20)];
    await world.run();
    for (const batch of batches) expect(await world.read(batch)).toMatchObject({ completed: 20, slots: 0 });
  });
});

describe('a message that is delivered twice', () => {
  it('changes nothing after its requests have ended', async () => {
    const world = batchWorld();
    const batch = await world.create(12);
    await world.workflow.step(world.functions);
    const bodies = world.queue.messages.map(({ body }) => structuredClone(body));
    await world.deliver(1);
    await world.queue.send(bodies);
    await world.run();
    expect(world.model.calls).toHaveLength(12);
    expect(await world.read(batch)).toMatchObject({ status: 'completed', completed: 12, failed: 0 });
  });

  it('is processed by one of two workers', async () => {
    const world = batchWorld();
    await world.create(10);
    await world.workflow.step(world.functions);
    await world.queue.send(world.queue.messages.map(({ body }) => body));
    await world.deliver(2);
    expect(world.model.calls).toHaveLength(10);
  });

  it('of several requests is split, because one of them may have killed its worker', async () => {
    const world = batchWorld();
    const batch = await world.create(3);
    await world.workflow.step(world.functions);
    const [message] = world.queue.messages;
    if (message !== undefined) message.deliveries = 1;
    await world.deliver(1);
    expect(world.model.calls).toEqual([]);
    expect(world.queue.messages.map(({ body }) => body.positions)).toEqual([[0], [1], [2]]);
    expect(await world.read(batch)).toMatchObject({ slots: 3 });
    await world.run();
    expect(await world.read(batch)).toMatchObject({ completed: 3, slots: 0 });
  });
});
