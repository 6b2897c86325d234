import { beforeEach, describe, expect, it } from 'vitest';
import type { Chat } from '#domain/chats/chat.ts';
import { type MemoryChat, openMemoryChat } from '#support/memory-chat.ts';
import { replyMessage } from '#support/messages.ts';
import type { ScriptedReply } from '#support/scripted-runtime.ts';

let memory: MemoryChat;
let chat: Chat;
beforeEach(async () => {
  memory = await openMemoryChat();
  chat = await memory.createChat();
});

const failure = (message: string) => ({ code: 10005, message });

describe('a reply that is not complete', () => {
  it.each<[what: string, message: string, end: (reply: ScriptedReply, endCall: () => void) => void]>([
    [
      'whose runtime fails',
      'The reply could not be completed',
      (reply) => reply.fail(new TypeError('A secret')),
    ],
    [
      'that the runtime cuts short',
      'Too many calls of models',
      (reply, endCall) => {
        endCall();
        reply.end({ cutShort: 'Too many calls of models' });
      },
    ],
  ])('%s, is stored with its text and an error, and the chat is free', async (_what, message, end) => {
    memory.model.onReply = (reply) => {
      const endCall = reply.startCall();
      reply.text('Hel');
      end(reply, endCall);
    };
    const { reply, events } = await memory.talk(chat, 'Hi');
    const error = failure(message);
    expect(reply).toMatchObject({ content: 'Hel', error });
    expect(events.at(-1)).toEqual({ type: 'response.error', ...error });
    expect(await memory.history(chat)).toMatchObject([
      { content: 'Hi' },
      { content: 'Hel', error, agentVersionId: 'version-of-agent-1' },
    ]);
    expect(await memory.read(chat)).toMatchObject({ lease: null, messageCount: 2 });
    expect(memory.uses).toMatchObject([{ counts: { turns: 1, failedTurns: 1 } }]);
    expect(memory.uses[0]?.calls).toHaveLength(1);
    expect(JSON.stringify(memory.logged)).not.toContain('A secret');
    memory.model.onReply = (next) => next.end();
    await memory.talk(chat, 'Again');
    expect(memory.model.replies[1]?.request.history).toMatchObject([{ content: 'Hi' }, { content: 'Hel' }]);
  });
});

describe('a reply that cannot be stored', () => {
  const storing = (error: Error) => ({
    ...memory.services.messages,
    put: async () => {
      throw error;
    },
  });

  it('now, keeps the chat lease until it expires: it may be stored although the response is lost', async () => {
    const started = await memory.start(memory.inputOf(chat, 'Hi'));
    const messages = storing(new Error('The table is down'));
    const { reply } = await memory.finish(started, { messages });
    expect(reply.error).toEqual(failure('The reply could not be stored'));
    expect(memory.uses).toMatchObject([{ counts: { turns: 1, failedTurns: 1 } }]);
    await expect(memory.send(memory.inputOf(chat, 'Too soon'))).rejects.toThrow('already in progress');
    await memory.clock.advance(60_000);
    await memory.talk(chat, 'Again');
    expect(await memory.contents(chat)).toEqual(['Hi', '', 'Again', 'Hello']);
    expect((await memory.history(chat))[1]).toMatchObject({ error: failure('The reply was interrupted') });
  });

  it('because another function has closed the turn, ends as interrupted, and counts once', async () => {
    const started = await memory.start(memory.inputOf(chat, 'Hi'));
    await memory.services.messages.putAndRelease(chat, started.turn.chat.lease.id, replyMessage(2, ''));
    const { reply, events } = await memory.finish(started);
    const error = failure('The reply was interrupted');
    expect(reply.error).toEqual(error);
    expect(events.at(-1)).toEqual({ type: 'response.error', ...error });
    expect(await memory.contents(chat)).toEqual(['Hi', '']);
    expect(memory.uses).toMatchObject([{ counts: { turns: 1, failedTurns: 1 } }]);
  });

  it('is complete although the chat lease cannot be released: the next send closes nothing', async () => {
    const chats = {
      ...memory.services.chats,
      releaseLease: async () => {
        throw new Error('The table is down');
      },
    };
    const started = await memory.start(memory.inputOf(chat, 'Hi'));
    const { reply } = await memory.finish(started, { chats });
    expect(reply.error).toBeNull();
    expect(memory.logged).toContain('warn: A chat was not freed');
    await memory.clock.advance(60_000);
    await memory.talk(chat, 'Again');
    expect(await memory.contents(chat)).toEqual(['Hi', 'Hello', 'Again', 'Hello']);
  });
});
