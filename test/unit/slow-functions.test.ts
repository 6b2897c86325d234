import { beforeEach, describe, expect, it } from 'vitest';
import type { Chat } from '#domain/chats/chat.ts';
import { delayedCall, type MemoryChat, openMemoryChat } from '#support/memory-chat.ts';

let memory: MemoryChat;
let chat: Chat;
beforeEach(async () => {
  memory = await openMemoryChat();
  chat = await memory.createChat();
});

const busy = 'A reply is already in progress for this chat';
const input = (message: string) => memory.inputOf(chat, message);
/** The clock of a function whose leases have ended for others as soon as it takes them. */
const slowClock = () => ({
  clock: { ...memory.clock, now: () => new Date(memory.clock.now().getTime() - 61_000) },
});

/** Another function starts a turn while a call of the first one waits; the first one has lost the chat. */
async function overtake(slow: Promise<unknown>, delayed: ReturnType<typeof delayedCall>, key = false) {
  await delayed.arrived;
  const first = await memory.start(input(key ? 'Once' : 'From the first'), key ? once() : {});
  delayed.open();
  await expect(slow).rejects.toThrow(busy);
  return first;
}

const once = () => ({ key: memory.keyOf('once') });

describe('a turn that was given up', () => {
  it('is settled by two senders without touching the turn of the one who was first', async () => {
    await memory.services.chats.takeOverLease(await memory.read(chat), { id: 'dead', until: 0 });
    const check = delayedCall(memory.services.chats.openTurn);
    const services = { chats: { ...memory.services.chats, openTurn: check.call } };
    const first = await overtake(memory.send(input('From the slow'), { services }), check);
    expect((await memory.finish(first)).reply).toMatchObject({ content: 'Hello', error: null });
    expect(await memory.contents(chat)).toEqual(['From the first', 'Hello']);
  });

  it('is not brought back by a holder whose message comes late', async () => {
    const put = delayedCall(memory.services.messages.put);
    const services = { ...slowClock(), messages: { ...memory.services.messages, put: put.call } };
    const first = await overtake(memory.send(input('From the late'), { services }), put);
    expect((await memory.finish(first)).reply).toMatchObject({ content: 'Hello', error: null });
    expect(await memory.contents(chat)).toEqual(['From the first', 'Hello']);
  });
});

describe('a send that is made again', () => {
  it('has one turn and one reply when its first function wakes up beside it', async () => {
    const first = await memory.start(input('Once'), { ...once(), services: slowClock() });
    const takeOver = delayedCall(memory.services.chats.takeOverLease);
    const services = { chats: { ...memory.services.chats, takeOverLease: takeOver.call } };
    const second = await overtake(memory.send(input('Once'), { ...once(), services }), takeOver, true);
    const { position, message, chat: leased } = second.turn;
    expect([position, message, leased.lease.id === first.turn.chat.lease.id]).toEqual([1, 'Once', false]);
    await expect(memory.send(input('Once'), once())).rejects.toThrow(busy);

    expect((await memory.finish(first)).reply).toMatchObject({ error: null });
    await memory.finish(second);
    expect(await memory.contents(chat)).toEqual(['Once', 'Hello']);
    expect(await memory.send(input('Once'), once())).toMatchObject({ reply: { content: 'Hello' } });
  });

  it('leaves the chat alone when the other one of two has begun the turn', async () => {
    const put = delayedCall(memory.services.messages.putWithKey);
    const services = { ...slowClock(), messages: { ...memory.services.messages, putWithKey: put.call } };
    const first = await overtake(memory.send(input('Once'), { ...once(), services }), put, true);
    await memory.finish(first);
    expect(await memory.contents(chat)).toEqual(['Once', 'Hello']);
  });
});
