import { beforeEach, describe, expect, it } from 'vitest';
import type { Chat } from '#domain/chats/chat.ts';
import { ModelFailure } from '#domain/platform/failures.ts';
import { type MemoryChat, openMemoryChat } from '#support/memory-chat.ts';
import { replyMessage } from '#support/messages.ts';

let memory: MemoryChat;
let chat: Chat;
beforeEach(async () => {
  memory = await openMemoryChat();
  chat = await memory.createChat();
});

const failure = (message: string) => ({ code: 10005, message });

describe('a reply that is not complete', () => {
  const text = 'Hel';
  interface Outcome {
    play: (memory: MemoryChat) => void;
    error: string;
    content: string;
    calls?: number;
    /** The provider rejects the content. */
    ofContent?: true;
  }
  const playing = (end: (reply: MemoryChat['model']['replies'][number]) => void) => (opened: MemoryChat) => {
    opened.model.onReply = (reply) => {
      reply.startCall();
      reply.text(text);
      end(reply);
    };
  };

  it.each<[what: string, outcome: Outcome]>([
    [
      'whose model fails',
      {
        play: playing((reply) => reply.fail(new ModelFailure('throttled', 'Of the provider'))),
        error: 'The model is busy: try again later',
        content: text,
      },
    ],
    [
      'whose runtime fails',
      {
        play: playing((reply) => reply.fail(new TypeError('A secret'))),
        error: 'The reply could not be completed',
        content: text,
      },
    ],
    [
      'that the runtime cuts short',
      {
        play: (opened) => {
          opened.model.onReply = (reply) => {
            const endCall = reply.startCall();
            reply.text(text);
            endCall();
            reply.end({ cutShort: 'Too many calls of models' });
          };
        },
        error: 'Too many calls of models',
        content: text,
      },
    ],
    [
      'that fails before its first text',
      {
        play: (opened) => {
          opened.model.onReply = (reply) => reply.fail(new ModelFailure('tooLong', 'Of the provider'));
        },
        error: 'The message is too long for the model',
        content: '',
        calls: 0,
        ofContent: true,
      },
    ],
  ])(
    '%s, is stored with its text and an error, and the chat is free',
    async (_what, { play, ...expected }) => {
      play(memory);
      const { reply, events } = await memory.talk(chat, 'Hi');
      const error = failure(expected.error);
      expect(reply).toMatchObject({ content: expected.content, error });
      expect(events.at(-1)).toEqual({ type: 'response.error', ...error });
      expect(await memory.history(chat)).toMatchObject([
        { content: 'Hi' },
        { content: expected.content, error, agentVersionId: 'version-of-agent-1' },
      ]);
      expect(await memory.read(chat)).toMatchObject({ lease: null, messageCount: 2 });
      expect(memory.uses).toMatchObject([{ counts: { turns: 1, failedTurns: 1 } }]);
      expect(memory.uses[0]?.calls).toHaveLength(expected.calls ?? 1);
      expect(JSON.stringify(memory.logged)).not.toContain('A secret');
      memory.model.onReply = (next) => next.end();
      await memory.talk(chat, 'Again');
      expect(memory.model.replies[1]?.request.history).toMatchObject(
        expected.ofContent ? [] : [{ content: 'Hi' }, { content: expected.content }],
      );
    },
  );
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
