import { beforeEach, expect, it } from 'vitest';
import type { Chat } from '#domain/chats/chat.ts';
import type { Erasure, Purge } from '#domain/chats/purge.ts';
import { deleteUnusedChats } from '#domain/erasure/delete-unused-chats.ts';
import { type MemoryChat, openMemoryChat, workspaceId } from '#support/memory-chat.ts';

const day = 86_400_000;
let memory: MemoryChat;
let queue: (Purge | Erasure)[];
beforeEach(async () => {
  memory = await openMemoryChat();
  queue = [];
  memory.services.purgeQueue = { send: async (purges) => void queue.push(...purges) };
});

const run = () => deleteUnusedChats({ ...memory.services, chatDeletion: memory.services.chats })();
const existing = async (id = workspaceId) =>
  (
    await memory.services.chats.page({ workspaceId: id }, { limit: 1000, offset: 0, ascending: true })
  ).chats.map((chat) => chat.id);
const retain = (days: number | null) => memory.changeWorkspace({ retentionDays: days });

/** Another workspace with retention. */
async function openOther(id: string, chats: number): Promise<void> {
  const own = await memory.services.workspaces.get(workspaceId);
  await memory.services.workspaces.put({ ...(own as NonNullable<typeof own>), id, retentionDays: 1 });
  for (let created = 0; created < chats; created += 1) await memory.createChat({ workspaceId: id });
}

it('deletes chats a millisecond after N days without a use, and none of a workspace without retention', async () => {
  const unused = await memory.createChat();
  const talked = await memory.createChat();
  await memory.clock.advance(day);
  await memory.talk(talked, 'Hi');
  expect([await run(), queue]).toEqual([{ chats: 0, failures: 0 }, []]);
  await memory.clock.advance(day);
  expect([await run(), await existing()]).toEqual([{ chats: 0, failures: 0 }, [1, 2]]);
  await retain(2);
  expect([await run(), await existing()]).toEqual([{ chats: 0, failures: 0 }, [1, 2]]);
  await memory.clock.advance(1);
  expect([await run(), await existing()]).toEqual([{ chats: 1, failures: 0 }, [2]]);
  const deletedAt = memory.clock.now().toISOString();
  expect(queue).toEqual([{ workspaceId, chatId: unused.id, deletedAt }]);
  await memory.clock.advance(day - 1);
  expect([await run(), await existing()]).toEqual([{ chats: 0, failures: 0 }, [2]]);
  await memory.clock.advance(1);
  expect([await run(), await existing()]).toEqual([{ chats: 1, failures: 0 }, []]);
  expect(await run()).toEqual({ chats: 0, failures: 0 });
});

it('is exact after days were changed, and after retention was off', async () => {
  const chat = await memory.createChat();
  await retain(5);
  await memory.clock.advance(6 * day);
  await memory.services.chats.rename(chat, 'Renamed', memory.clock.now().toISOString());
  expect(await run()).toEqual({ chats: 0, failures: 0 });
  await memory.clock.advance(3 * day);
  await retain(null);
  expect(await run()).toEqual({ chats: 0, failures: 0 });
  await retain(4);
  expect(await run()).toEqual({ chats: 0, failures: 0 });
  await retain(2);
  expect(await run()).toEqual({ chats: 1, failures: 0 });
});

it('leaves a chat with a running reply or the lease of a batch, and deletes one whose function died', async () => {
  const leased = async (id: string, until: number): Promise<Chat> => {
    const chat = await memory.createChat();
    const request = { workspaceId, chatId: chat.id, agentId: chat.agentId, externalUserId: undefined };
    const now = memory.clock.now().toISOString();
    expect(await memory.services.chats.takeLease({ ...request, lease: { id, until }, now })).toMatchObject({
      taken: true,
    });
    return chat;
  };
  const now = memory.clock.now().getTime();
  const running = await leased('running', now + 3 * day);
  const ofBatch = await leased('batch:b:0', now + 1000);
  await leased('dead', now + 1000);
  await retain(1);
  await memory.clock.advance(2 * day);
  expect([await run(), await existing()]).toEqual([{ chats: 1, failures: 0 }, [running.id, ofBatch.id]]);
  await memory.services.chats.releaseLease(ofBatch, 'batch:b:0', 0);
  await memory.clock.advance(day);
  expect([await run(), await existing()]).toEqual([{ chats: 2, failures: 0 }, []]);
});

it('lets workspaces take turns, stops after four minutes, and goes on in the next run', async () => {
  const large = Array.from({ length: 10 }, (_, index) => `ws_${index}`);
  for (const id of large) await openOther(id, 200);
  await memory.clock.advance(2 * day);
  const { deleteUnchanged } = memory.services.chats;
  memory.services.chats.deleteUnchanged = async (...input) => {
    await memory.clock.advance(10_000);
    return deleteUnchanged(...input);
  };
  expect(await run()).toMatchObject({ failures: 0 });
  const left = await Promise.all(large.map(async (id) => (await existing(id)).length));
  for (const count of left) expect(count).toBeLessThan(200);
  expect(Math.max(...left)).toBeGreaterThan(0);
  while ((await run()).chats > 0);
  expect(await Promise.all(large.map(existing))).toEqual(large.map(() => []));
  expect(queue).toHaveLength(2000);
});

it('deletes some ten thousand chats in a run', async () => {
  await openOther('ws_1', 1);
  await memory.clock.advance(2 * day);
  // An index that never ends.
  memory.services.chatUses.before = async function* () {
    for (;;) yield Array.from({ length: 44 }, () => ({ chatId: 1, lastUse: '' }));
  };
  memory.services.chats.deleteUnchanged = async (chats) => [...chats];
  const { chats } = await run();
  expect(chats).toBeGreaterThanOrEqual(10_000);
  expect(chats).toBeLessThan(10_000 + 8 * 44);
});

it('goes on with other workspaces after a failure in one, and reports it', async () => {
  await openOther('ws_1', 2);
  await openOther('ws_2', 2);
  await memory.clock.advance(2 * day);
  const { deleteUnchanged } = memory.services.chats;
  memory.services.chats.deleteUnchanged = async (chats, at) => {
    if (chats[0]?.workspaceId === 'ws_1') throw new Error('The table is down');
    return deleteUnchanged(chats, at);
  };
  expect(await run()).toEqual({ chats: 2, failures: 1 });
  expect([await existing('ws_1'), await existing('ws_2')]).toEqual([[1, 2], []]);
  memory.services.chats.deleteUnchanged = deleteUnchanged;
  expect(await run()).toEqual({ chats: 2, failures: 0 });
});

it.each<[string, (services: MemoryChat['services']) => () => void]>([
  [
    'the deletion',
    (services) => {
      const { send } = services.purgeQueue;
      services.purgeQueue = { send: () => Promise.reject(new Error('The process died')) };
      return () => {
        services.purgeQueue = { send };
      };
    },
  ],
  [
    'the purges were enqueued',
    ({ chatUses }) => {
      const { replace } = chatUses;
      chatUses.replace = () => Promise.reject(new Error('The process died'));
      return () => {
        chatUses.replace = replace;
      };
    },
  ],
])('loses no chat if a run dies after %s: the next one goes on', async (_, die) => {
  const [, used] = [await memory.createChat(), await memory.createChat()];
  await retain(2);
  await memory.clock.advance(day);
  await memory.talk(used, 'Hi');
  await memory.clock.advance(2 * day - 1);
  const repair = die(memory.services);
  expect(await run()).toEqual({ chats: 0, failures: 1 });
  repair();
  expect(await run()).toEqual({ chats: 0, failures: 0 });
  expect(await existing()).toEqual([used.id]);
  // The reconciler enqueues what was not.
  expect((await Array.fromAsync(memory.services.purgeOutbox.pages('2028'))).flat()).toHaveLength(1);
  await memory.clock.advance(2);
  expect([await run(), await existing()]).toEqual([{ chats: 1, failures: 0 }, []]);
});
