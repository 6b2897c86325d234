import { describe, expect, it } from 'vitest';
import type { Batch } from '#domain/batches/batch.ts';
import { cancelBatch } from '#domain/batches/batches.ts';
import { ModelFailure } from '#domain/platform/failures.ts';
import { type BatchWorld, batchWorld } from '#support/batch-world/batch-world.ts';

/** One life of a batch, in which processes may die. */
interface Life {
  settings: Parameters<typeof batchWorld>[0];
  requests: { custom_id?: string; history_id?: number }[];
  prepare?: (world: BatchWorld) => void;
  /** Before everything goes on by itself. */
  meanwhile?: (world: BatchWorld, batch: Batch) => Promise<void>;
}

const webhook = { url: 'https://example.com/hook', events: ['completed' as const, 'cancelled' as const] };

/** A client, or an operator, repeats what got no response. */
async function twice<Result>(world: BatchWorld, work: () => Promise<Result>): Promise<Result> {
  const first = await work().catch(() => undefined);
  return first ?? world.advanceDuring(work());
}

async function runLife(
  { settings, requests, prepare, meanwhile }: Life,
  kills: readonly number[],
): Promise<{ world: BatchWorld; batch: Batch; writes: string[] }> {
  const world = batchWorld(settings);
  await world.createHistory();
  prepare?.(world);
  const writes: string[] = [];
  world.state.killer = { diesAfter: (write) => kills.includes(writes.push(write)) };
  const key = {
    ...{ workspaceId: 'ws_1', hash: 'key', fingerprint: 'request', at: world.clock.now().getTime() },
  };
  const batch = await twice(world, () => world.create(requests, { key, webhook }));
  await meanwhile?.(world, batch);
  const { reconciliationIndex } = world.stores;
  await world.runUntil(async () => {
    const webhooks = await Array.fromAsync(reconciliationIndex.webhooksDue('ws_1', '2100'));
    return webhooks.length + (await reconciliationIndex.openBatches()).length === 0;
  });
  return { world, batch, writes };
}

/** All that a client, or another sender to the chats, can see after the end. */
async function visibleState({ world, batch }: { world: BatchWorld; batch: Batch }) {
  const { status, completed, failed, stop } = await world.read(batch);
  const { chats } = await world.stores.chats.page(
    { workspaceId: 'ws_1' },
    { limit: 100, offset: 0, ascending: true },
  );
  const contents = chats.map(async (chat) => {
    const pages = world.stores.messages.range(chat, { first: 1, last: 100, ascending: true });
    const texts = (await Array.fromAsync(pages)).flat().map(({ message }) => message.content);
    return { texts, count: chat.messageCount, lease: chat.lease };
  });
  const results = await world.results(batch);
  return {
    ...{ status, completed, failed, reason: stop?.reason },
    results: results.map(({ custom_id, status: of, error_code, response_content }) => [
      ...[custom_id, of, error_code, response_content],
    ]),
    // Their ids are those of the claims, in any order.
    chats: (await Promise.all(contents)).toSorted((one, other) =>
      one.texts.join().localeCompare(other.texts.join()),
    ),
    events: [...new Set(world.state.calls.map(({ body }) => body.replace(/"timestamp":"[^"]+",/, '')))],
  };
}

/** What holds whenever a process dies. */
async function expectOrder(life: { world: BatchWorld; batch: Batch }): Promise<void> {
  const { status, completed, failed, results, chats, events } = await visibleState(life);
  const successes = results.filter(([, of]) => of === 'success');
  expect([completed, failed]).toEqual([successes.length, results.length - successes.length]);
  for (const [customId = '', , , content] of successes)
    expect(content).toBe(`Reply to Question ${String(customId).split(' ')[1]}`);
  expect(chats.filter(({ count, lease, texts }) => lease !== null || count !== texts.length)).toEqual([]);
  expect(events).toHaveLength(1);
  expect(JSON.parse(events[0] ?? '{}')).toMatchObject({
    event: `batch.${status}`,
    data: { completed_requests: completed, failed_requests: failed },
  });
}

const busyAtFirst = (world: BatchWorld): void => {
  world.model.replyTo = (message, attempt) => {
    if (message === 'Question 0' && attempt === 1) return new ModelFailure('throttled', 'Busy');
    if (message === 'Question 1' && attempt <= 2) return { text: 'Half a', error: new Error('Broken') };
    return `Reply to ${message}`;
  };
  world.state.receive = (attempt) => ({ status: attempt === 1 ? 500 : 200, retryAfter: null });
};

const lives: Record<string, Life> = {
  'of 12 requests with one slot, three of them of one history': {
    settings: { slots: 1 },
    requests: Array.from({ length: 12 }, (_, position) =>
      [0, 3, 11].includes(position) ? { history_id: 1 } : {},
    ),
  },
  'whose model and receiver fail at first': {
    settings: {},
    requests: [{}, {}, { history_id: 1 }],
    prepare: busyAtFirst,
  },
  'that expires': {
    settings: { timeout: 300_000 },
    requests: [{}, {}],
    prepare: (world) => {
      world.model.replyTo = (message) =>
        message === 'Question 0' ? new ModelFailure('unavailable', 'Down') : `Reply to ${message}`;
    },
  },
};

describe.each(Object.entries(lives))('a batch %s', (_, life) => {
  it('ends in the same way, whichever of its writes is the last one of its process', async () => {
    const whole = await runLife(life, []);
    const expected = await visibleState(whole);
    await expectOrder(whole);
    for (let write = 1; write <= whole.writes.length; write += 1) {
      const interrupted = await runLife(life, [write]);
      const died = `${write}: ${interrupted.writes[write - 1]}`;
      expect([died, await visibleState(interrupted)]).toEqual([died, expected]);
    }
  });

  it('ends in the same way after two processes have died', async () => {
    const whole = await runLife(life, []);
    const expected = await visibleState(whole);
    for (let write = 1; write <= whole.writes.length; write += 9) {
      const interrupted = await runLife(life, [write, write + 5]);
      const died = `${write}: ${interrupted.writes[write - 1]}, ${interrupted.writes[write + 4]}`;
      expect([died, await visibleState(interrupted)]).toEqual([died, expected]);
    }
  });
});

const life: Life = {
  settings: { slots: 1 },
  requests: [{}, { history_id: 1 }, { history_id: 1 }],
  prepare(world) {
    world.model.replyTo = () => new ModelFailure('throttled', 'Busy');
  },
  async meanwhile(world, batch) {
    await world.run();
    await twice(world, () =>
      world
        .invoke((ports) => cancelBatch(ports, 'ws_1', batch.id, async () => undefined))
        .catch((error: unknown) => {
          if (!String(error).includes('this one is cancel')) throw error;
        }),
    );
  },
};

it('a batch that is cancelled while a request waits ends as cancelled, whichever of its writes is the last one of its process', async () => {
  const whole = await runLife(life, []);
  expect((await visibleState(whole)).results.map(([, , code]) => code)).toEqual([499, 499, 499]);
  for (let write = 1; write <= whole.writes.length; write += 1) {
    const interrupted = await runLife(life, [write]);
    await expectOrder(interrupted);
    expect(await interrupted.world.read(interrupted.batch)).toMatchObject({ status: 'cancelled' });
  }
});
