import { beforeEach, expect, it } from 'vitest';
import type { Chat } from '#domain/chats/chat.ts';
import { stopReply } from '#domain/chats/chats.ts';
import { watchStops } from '#domain/chats/watch-stops.ts';
import type { Clock } from '#domain/platform/services.ts';
import { type MemoryChat, openMemoryChat, workspaceId } from '#support/memory-chat.ts';

let memory: MemoryChat;
let chat: Chat;
beforeEach(async () => {
  memory = await openMemoryChat();
  chat = await memory.createChat();
});

/** Takes the lease as a function does that renews nothing. */
async function lease(id: string, of = chat): Promise<Chat> {
  await memory.services.chats.takeOverLease(of, { id, until: memory.clock.now().getTime() + 60_000 });
  return memory.read(of);
}

const stop = (chatId = chat.id) =>
  stopReply(
    memory.services,
    { workspaceId, chatId, externalUserId: undefined, responseId: undefined },
    async () => undefined,
  );

const release = (id: string) => memory.services.chats.releaseLease(chat, id, 0);

it('waits two seconds for the end of the reply, and then leaves the chat to end within three', async () => {
  await lease('dead');
  const stopping = stop();
  // The stop is written.
  await memory.clock.advance(0);
  let response: unknown;
  void stopping.then((value) => {
    response = value;
  });
  await memory.clock.advance(1999);
  expect(response).toBeUndefined();
  await memory.clock.advance(1);
  expect(response).toEqual({ responseId: 'resp_dead', hasEnded: false });
  await memory.clock.advance(999);
  const startedAt = memory.clock.now().getTime();
  expect((await memory.read(chat)).lease).toEqual({ id: 'dead', until: startedAt + 1, isStopped: true });
});

it('answers as soon as the chat is free, or has another reply', async () => {
  await lease('living');
  const stopping = stop();
  await memory.clock.advance(500);
  await release('living');
  await lease('next', await memory.read(chat));
  await memory.clock.advance(200);
  expect(await stopping).toEqual({ responseId: 'resp_living', hasEnded: true });
  expect((await memory.read(chat)).lease).not.toHaveProperty('isStopped');
});

it('is rejected if the reply ends before the stop is written, its function is dead already, or a batch has the chat', async () => {
  await lease('living');
  const { chats } = memory.services;
  const stopLease = async (...given: Parameters<typeof chats.stopLease>) => {
    await release('living');
    return chats.stopLease(...given);
  };
  memory.services.chats = { ...chats, stopLease };
  await expect(stop()).rejects.toThrow('No reply is in progress');
  await chats.takeOverLease(chat, { id: 'dead', until: memory.clock.now().getTime() });
  await expect(stop()).rejects.toThrow('No reply is in progress');
  await lease('batch:1:0', await memory.read(chat));
  await expect(stop()).rejects.toThrow('The reply in progress belongs to a batch');
});

it('is read once a second for all chats together, and acknowledged once', async () => {
  const chats = [chat, await memory.createChat(), await memory.createChat()];
  const calls: string[] = [];
  const recorded = {
    get: async (workspace: string, id: number) => {
      calls.push(`get ${id}`);
      return memory.services.chats.get(workspace, id);
    },
    acknowledgeStop: async (of: Chat, leaseId: string, until: number) => {
      calls.push(`acknowledge ${of.id} for ${until - memory.clock.now().getTime()}`);
      await memory.services.chats.acknowledgeStop(of, leaseId, until);
    },
  };
  let timers = 0;
  const every: Clock['every'] = (...given) => {
    const cancel = memory.clock.every(...given);
    timers += 1;
    return () => {
      timers -= 1;
      cancel();
    };
  };
  const clock = { ...memory.clock, every };
  const { watch } = watchStops({ ...memory.services, clock, chats: recorded });
  const stopped: number[] = [];
  const ends = chats.map((each) => watch(each, `lease-${each.id}`, () => void stopped.push(each.id)));
  for (const each of chats) await lease(`lease-${each.id}`, each);
  await memory.clock.advance(1000);
  expect(calls.splice(0)).toEqual(['get 1', 'get 2', 'get 3']);
  await memory.services.chats.stopLease(chat, 'lease-1', memory.clock.now().getTime() + 3000);
  // A stop of an earlier reply than the watched one.
  await memory.services.chats.releaseLease(chats[1] as Chat, 'lease-2', 0);
  await lease('another', await memory.read(chats[1] as Chat));
  await memory.services.chats.stopLease(chats[1] as Chat, 'another', 0);
  await memory.clock.advance(1000);
  expect(stopped).toEqual([1]);
  expect(calls.splice(0)).toEqual(['get 1', 'get 2', 'get 3', 'acknowledge 1 for 10000']);
  await memory.clock.advance(1000);
  expect(calls.splice(0)).toEqual(['get 2', 'get 3']);
  expect(timers).toBe(1);
  await Promise.all(ends.map((end) => end()));
  expect(timers).toBe(0);
});

it('survives an outage of the table', async () => {
  let isOut = true;
  const get = async (workspace: string, id: number) => {
    if (isOut) throw new Error('The table is unavailable');
    return memory.services.chats.get(workspace, id);
  };
  const { watch } = watchStops({ ...memory.services, chats: { ...memory.services.chats, get } });
  let isStopped = false;
  const end = watch(chat, 'lease', () => {
    isStopped = true;
  });
  await lease('lease');
  await memory.services.chats.stopLease(chat, 'lease', memory.clock.now().getTime() + 3000);
  await memory.clock.advance(1000);
  isOut = false;
  expect(isStopped).toBe(false);
  await memory.clock.advance(1000);
  expect(isStopped).toBe(true);
  expect(memory.logged).toEqual(['warn: Whether replies are to be stopped was not read']);
  await end();
});

it('settles the turn of a dead function as stopped, also for the repeated send with its key', async () => {
  const key = memory.keyOf('hash');
  const started = await memory.start(memory.inputOf(chat, 'Hi'), { key });
  const stopping = stop();
  await memory.clock.advance(0);
  await memory.clock.advance(3000);
  expect(await stopping).toMatchObject({ hasEnded: false });
  const repeated = await memory.send(memory.inputOf(chat, 'Hi'), { key });
  expect(repeated).toMatchObject({ reply: { content: '', error: null, incomplete: 'stopped' } });
  expect(memory.model.replies).toHaveLength(1);
  await started.running.abort();
});
