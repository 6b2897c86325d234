import { beforeEach, describe, expect, it } from 'vitest';
import type { Chat } from '#domain/chats/chat.ts';
import type { StartedTurn } from '#domain/chats/send-turn.ts';
import { ModelFailure } from '#domain/platform/model-failure.ts';
import { delayedCall, type MemoryChat, openMemoryChat } from '#support/memory-chat.ts';

let memory: MemoryChat;
let chat: Chat;
beforeEach(async () => {
  memory = await openMemoryChat();
  chat = await memory.createChat();
});

const busy = 'A reply is already in progress for this chat';
const interrupted = { code: 10005, message: 'The reply was interrupted' };
const input = (message = 'Hi') => memory.inputOf(chat, message);
/** Sends with one key. */
const options = () => ({ key: memory.keyOf('key') });
/** Of a function whose leases expire as soon as it takes them. */
const withoutLease = () => ({ replySettings: { ...memory.services.replySettings, lease: -1 } });
const repliesOf = (started: StartedTurn): string | undefined =>
  'reply' in started ? started.reply.content : undefined;

describe('a repeated send', () => {
  it('gets the stored reply: no model is called, and nothing is stored or counted', async () => {
    await memory.finish(await memory.start(input(), options()));
    const [before, history] = [await memory.read(chat), await memory.history(chat)];
    expect(await memory.send(input(), options())).toMatchObject({ reply: history[1] });
    expect(await memory.read(chat)).toEqual(before);
    expect(await memory.history(chat)).toEqual(history);
    expect([memory.model.replies.length, memory.uses.length]).toEqual([1, 1]);
  });

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

  it('gets a failed reply as failed', async () => {
    memory.model.onReply = (reply) => {
      reply.text('Hel');
      reply.fail(new ModelFailure('refused', 'Of the provider'));
    };
    await memory.finish(await memory.start(input(), options()));
    expect(await memory.send(input(), options())).toMatchObject({
      reply: { content: 'Hel', error: { code: 10005, message: 'The model refused the request' } },
    });
    expect(memory.model.replies).toHaveLength(1);
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

  it('is rejected while its reply runs', async () => {
    const started = await memory.start(input(), options());
    await expect(memory.send(input(), options())).rejects.toThrow(busy);
    await memory.finish(started);
    expect(repliesOf(await memory.send(input(), options()))).toBe('Hello');
  });

  it('is a new send after 24 hours', async () => {
    await memory.finish(await memory.start(input(), options()));
    await memory.clock.advance(24 * 60 * 60 * 1000);
    await memory.finish(await memory.start(input(), options()));
    expect(await memory.contents(chat)).toEqual(['Hi', 'Hello', 'Hi', 'Hello']);
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
  it('continues its turn under a new lease, and the model gets the same', async () => {
    await memory.talk(chat, 'Before');
    await memory.services.fileIndex.put({
      ...{ uuid: 'file', workspaceId: chat.workspaceId, name: 'a.txt', contentType: 'text/plain', size: 1 },
      ...{ scope: 'persistent', createdAt: memory.clock.now().toISOString(), expiresAt: null },
    });
    const withFile = { ...input(), attachedFileUuids: ['file'] };
    const first = await memory.start(withFile, options());
    await memory.clock.advance(59_999);
    await expect(memory.send(withFile, options())).rejects.toThrow(busy);
    await memory.clock.advance(1);
    const second = await memory.start(withFile, options());
    const until = memory.clock.now().getTime() + 60_000;
    expect(second.turn.chat.lease).toEqual({
      id: expect.not.stringContaining(first.turn.chat.lease.id),
      until,
    });
    expect((await memory.read(chat)).lease).toEqual(second.turn.chat.lease);
    const requests = memory.model.replies
      .slice(1)
      .map(({ request: { message, attachments, history } }) => ({ message, attachments, history }));
    expect(requests).toEqual([requests[0], requests[0]]);
    await expect(memory.send(withFile, options())).rejects.toThrow(busy);
    await memory.finish(second);
    expect(await memory.contents(chat)).toEqual(['Before', 'Hello', 'Hi', 'Hello']);
    expect(await memory.read(chat)).toMatchObject({ lease: null, messageCount: 4 });
    expect(memory.uses).toHaveLength(2);
  });

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

  it('has failed if another message came before it', async () => {
    await memory.start(input(), options());
    await memory.clock.advance(60_000);
    await memory.talk(chat, 'Another');
    expect(await memory.send(input(), options())).toMatchObject({
      reply: { content: '', error: interrupted },
    });
    expect(await memory.contents(chat)).toEqual(['Hi', '', 'Another', 'Hello']);
  });

  it('has one reply if that function still ends it', async () => {
    memory.model.pause();
    const first = await memory.start(input(), options());
    await memory.clock.advance(60_000);
    const second = await memory.start(input(), options());
    for (const [index, content] of ['of the first', 'of the second'].entries()) {
      memory.model.replies[index]?.text(content);
      memory.model.replies[index]?.end();
    }
    expect((await memory.finish(first)).reply).toMatchObject({ content: 'of the first', error: null });
    // The second function still owns the chat.
    expect((await memory.read(chat)).lease).toEqual(second.turn.chat.lease);
    expect((await memory.finish(second)).reply).toMatchObject({ error: interrupted });
    expect(await memory.contents(chat)).toEqual(['Hi', 'of the first']);
    expect(await memory.read(chat)).toMatchObject({ lease: null, messageCount: 2 });
    expect(repliesOf(await memory.send(input(), options()))).toBe('of the first');
  });
});

describe('concurrent sends with one key', () => {
  it('start one turn', async () => {
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, () => memory.start(input(), options())),
    );
    const started = results.filter((result) => result.status === 'fulfilled');
    expect(started).toHaveLength(1);
    for (const result of results)
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ message: busy });
    for (const { value } of started) await memory.finish(value);
    expect(await memory.contents(chat)).toEqual(['Hi', 'Hello']);
    expect(await memory.read(chat)).toMatchObject({ lease: null, messageCount: 2 });
  });

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

  it('leave the chat alone while the other one replies', async () => {
    const put = delayedCall(memory.services.messages.putWithKey);
    const messages = { ...memory.services.messages, putWithKey: put.call };
    const delayed = memory.send(input(), { ...options(), services: { ...withoutLease(), messages } });
    await put.arrived;
    const started = await memory.start(input(), options());
    put.open();
    await expect(delayed).rejects.toThrow(busy);
    expect((await memory.read(chat)).lease).toEqual(started.turn.chat.lease);
    expect((await memory.finish(started)).reply.error).toBeNull();
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
