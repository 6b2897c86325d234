import { beforeEach, expect, it } from 'vitest';
import type { Chat } from '#domain/chats/chat.ts';
import { deleteChat } from '#domain/chats/chats.ts';
import { type Erasure, type Purge, requeuePurges } from '#domain/chats/purge.ts';
import { runErasure } from '#domain/erasure/erase-person.ts';
import { purgeChat, requestErasure } from '#domain/erasure/erasure.ts';
import { type MemoryChat, openMemoryChat, workspaceId } from '#support/memory-chat.ts';
import { noObjects } from '#support/memory-objects.ts';

const minute = 60_000;
let memory: MemoryChat;
let chat: Chat;
let queue: (Purge | Erasure)[];
beforeEach(async () => {
  memory = await openMemoryChat();
  chat = await memory.createChat();
  queue = [];
  memory.services.purgeQueue = { send: async (purges) => void queue.push(...purges) };
});

const remove = () =>
  deleteChat(
    memory.services,
    { workspaceId, chatId: chat.id, externalUserId: chat.externalUserId ?? undefined },
    async () => undefined,
  );
const purgeOne = (purge: Purge) => purgeChat({ ...memory.services, ...noObjects }, purge);
const purgeAll = async () => {
  for (const purge of queue.splice(0)) await purgeOne(purge as Purge);
};
const reconcile = () => requeuePurges(memory.services);
const history = () => memory.contents(chat);

it('runs at once and after twenty minutes, and deletes what a reply in progress has stored meanwhile', async () => {
  await memory.talk(chat, 'Before');
  const started = await memory.start(memory.inputOf(chat, 'Hi'));
  await remove();
  expect(queue).toHaveLength(1);
  await purgeAll();
  expect(await history()).toEqual([]);
  expect((await memory.finish(started)).reply).toMatchObject({ content: 'Hello', error: null });
  expect(await history()).not.toEqual([]);
  await memory.clock.advance(20 * minute - 1);
  expect([await reconcile(), queue]).toEqual([{ overdue: 0 }, []]);
  await memory.clock.advance(1);
  await reconcile();
  await purgeAll();
  expect(await history()).toEqual([]);
  await memory.clock.advance(60 * minute);
  expect([await reconcile(), queue]).toEqual([{ overdue: 0 }, []]);
});

it('is enqueued by the reconciler, every five minutes until it ends, if the queue has lost its message', async () => {
  await memory.talk(chat, 'Hi');
  memory.services.purgeQueue = {
    send: async () => {
      throw new Error('The queue is down');
    },
  };
  await remove();
  expect(memory.logged).toContain('warn: A purge was not enqueued: the reconciler will do so');
  memory.services.purgeQueue = { send: async (purges) => void queue.push(...purges) };
  const sent: number[] = [];
  for (let minutes = 1; minutes <= 11; minutes += 1) {
    await memory.clock.advance(minute);
    await reconcile();
    if (queue.splice(0).length > 0) sent.push(minutes);
  }
  expect(sent).toEqual([5, 10]);
  await memory.clock.advance(49 * minute);
  expect(await reconcile()).toEqual({ overdue: 1 });
  expect(queue).toHaveLength(1);
  await purgeAll();
  expect([await history(), await reconcile()]).toEqual([[], { overdue: 0 }]);
});

it('reads no further than it enqueues or counts: a thousand purges a run, and the overdue ones', async () => {
  const now = memory.clock.now().getTime();
  const purgesAt = (minutes: number) =>
    Array.from({ length: 600 }, (_, index) => ({
      ...{ workspaceId, chatId: index + 1, dueAt: 0 },
      deletedAt: new Date(now - minutes * minute).toISOString(),
    }));
  let read = 0;
  memory.services.purgeOutbox.pages = async function* (deletedUpTo) {
    expect(Date.parse(deletedUpTo)).toBe(now - 5 * minute);
    for (const minutes of [90, 60, 59, 10]) {
      read += 1;
      yield purgesAt(minutes);
    }
  };
  expect(await reconcile()).toEqual({ overdue: 1200 });
  expect([read, queue.length]).toEqual([3, 1000]);
});

it('does nothing when a message is delivered again after the end', async () => {
  await remove();
  const [purge] = queue.splice(0) as [Purge];
  await memory.clock.advance(20 * minute);
  await purgeOne(purge);
  memory.services.chatTraces.deleteMessages = async () => {
    throw new Error('Nothing is left');
  };
  await purgeOne(purge);
});

it('of a chat with very much goes on at the end of the queue after half a minute', async () => {
  await remove();
  let left = 3;
  memory.services.chatTraces.deleteMessages = async (_chat, hasTime) => {
    for (; left > 0 && hasTime(); left -= 1) await memory.clock.advance(minute / 4);
    return left === 0;
  };
  const [purge] = queue as [Purge];
  await purgeAll();
  expect([left, queue]).toEqual([1, [purge]]);
  await purgeAll();
  expect([left, queue]).toEqual([0, []]);
});

it('of the requests of a user goes on at the end of the queue after half a minute', async () => {
  const erasure = { workspaceId, externalUserId: 'ann', deletedAt: memory.clock.now().toISOString() };
  await requestErasure(memory.services, erasure, 'key');
  const erased: string[] = [];
  Object.assign(memory.services.requestEraser, {
    ofUser: async function* () {
      for (const batchId of ['1', '2', '3'])
        yield [{ batchId, createdAt: erasure.deletedAt, requestIndexes: [0] }];
    },
    erase: async ({ id }: { id: string }) => {
      erased.push(id);
      await memory.clock.advance(minute / 4);
    },
  });
  await runErasure(memory.services, queue.splice(0)[0] as Erasure);
  expect([erased, queue]).toEqual([['1', '2'], [erasure]]);
});
