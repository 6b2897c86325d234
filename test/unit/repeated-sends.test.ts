import { beforeEach, describe, expect, it } from 'vitest';
import type { Chat } from '#domain/chats/chat.ts';
import type { StartedTurn } from '#domain/chats/send-turn.ts';
import { delayedCall, type MemoryChat, openMemoryChat } from '#support/memory-chat.ts';

let memory: MemoryChat;
let chat: Chat;
beforeEach(async () => {
  memory = await openMemoryChat();
  chat = await memory.createChat();
});

const busy = 'A reply is already in progress for this chat';
const input = (message = 'Hi') => memory.inputOf(chat, message);
/** Sends with one key. */
const options = () => ({ key: memory.keyOf('key') });
/** Of a function whose leases expire as soon as it takes them. */
const withoutLease = () => ({ replySettings: { ...memory.services.replySettings, lease: 0 } });
const repliesOf = (started: StartedTurn): string | undefined =>
  'reply' in started ? started.reply.content : undefined;

describe('a repeated send', () => {
  it('gets its reply also after other turns, and while the next reply runs', async () => {
    await memory.finish(await memory.start(input(), options()));
    memory.model.onReply = (reply) => {
      reply.text('Another');
      reply.end();
    };
    await memory.talk(chat, 'Another');
    await memory.start(input('Running'));
    expect(repliesOf(await memory.send(input(), options()))).toBe('Hello');
  });

  it('gets its reply from an agent that is no longer published', async () => {
    await memory.finish(await memory.start(input(), options()));
    const agents = { ...memory.services.agents, published: async () => undefined };
    expect(repliesOf(await memory.send(input(), { ...options(), services: { agents } }))).toBe('Hello');
  });

  it('gets its reply only within the rate limit, and only a listed user gets it', async () => {
    await memory.finish(await memory.start(input(), options()));
    const awaitRateLimit = () => Promise.reject(new Error('Rate limit exceeded'));
    await expect(memory.send(input(), { ...options(), awaitRateLimit })).rejects.toThrow('Rate limit');
    await memory.changeWorkspace({ whitelistEnabled: true });
    await expect(memory.send(input(), options())).rejects.toMatchObject({ kind: 'clientNotAllowed' });
  });

  it('with a key whose chat or message is missing is an error, not a second turn', async () => {
    for (const [chatId, message] of [
      [999, 'Chat not found'],
      [chat.id, 'is missing'],
    ] as const) {
      const key = memory.keyOf(`of ${chatId}`);
      await memory.services.idempotency.store(key, { is: 'turn', chatId, position: 7 });
      await expect(memory.send(input(), { key })).rejects.toThrow(message);
    }
    expect(memory.model.replies).toEqual([]);
  });
});

describe('a repeated send whose function has died', () => {
  it('has the title of a first turn', async () => {
    await memory.changeWorkspace({ titlesEnabled: true });
    await memory.start(input(), options());
    await memory.clock.advance(60_000);
    expect((await memory.start(input(), options())).turn.makesTitle).toBe(true);
  });

  it('needs a published agent', async () => {
    await memory.start(input(), options());
    await memory.clock.advance(60_000);
    const agents = { ...memory.services.agents, published: async () => undefined };
    const before = await memory.read(chat);
    await expect(memory.send(input(), { ...options(), services: { agents } })).rejects.toThrow(
      'Agent version not found',
    );
    expect(await memory.read(chat)).toEqual(before);
  });
});

describe('concurrent sends with one key', () => {
  it('continue with the turn that the other one has started meanwhile', async () => {
    const put = delayedCall(memory.services.messages.putWithKey);
    const messages = { ...memory.services.messages, putWithKey: put.call };
    const delayed = memory.send(input(), { ...options(), services: { ...withoutLease(), messages } });
    await put.arrived;
    await memory.finish(await memory.start(input(), options()));
    put.open();
    expect(repliesOf(await delayed)).toBe('Hello');
    expect(memory.model.replies[0]?.request.signal.aborted).toBe(true);
    expect(await memory.contents(chat)).toEqual(['Hi', 'Hello']);
    expect(await memory.read(chat)).toMatchObject({ lease: null, messageCount: 2 });
    // The calls of the aborted reply are counted, but it is no turn.
    expect(memory.uses).toMatchObject([{ counts: { turns: 1 } }, { counts: {}, calls: [{}] }]);
  });

  it('continue an abandoned turn once', async () => {
    await memory.start(input(), options());
    await memory.clock.advance(60_000);
    const takeOver = delayedCall(memory.services.chats.takeOverLease);
    const chats = { ...memory.services.chats, takeOverLease: takeOver.call };
    const slower = memory.send(input(), { ...options(), services: { chats } });
    await takeOver.arrived;
    const second = await memory.start(input(), options());
    takeOver.open();
    await expect(slower).rejects.toThrow(busy);
    expect((await memory.read(chat)).lease).toEqual(second.turn.chat.lease);
  });

  it('end after five attempts if the turn changes each time', async () => {
    await memory.start(input(), options());
    await memory.clock.advance(60_000);
    let attempts = 0;
    const takeOverLease = async () => {
      attempts += 1;
      return false;
    };
    const chats = { ...memory.services.chats, takeOverLease };
    await expect(memory.send(input(), { ...options(), services: { chats } })).rejects.toThrow(busy);
    expect([attempts, memory.model.replies.length]).toEqual([5, 1]);
  });
});
