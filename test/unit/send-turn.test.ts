import { beforeEach, describe, expect, it, vi } from 'vitest';
import { limits } from '#contract/limits.ts';
import type { Chat } from '#domain/chats/chat.ts';
import { messageId } from '#domain/chats/message.ts';
import { delayedCall, type MemoryChat, openMemoryChat } from '#support/memory-chat.ts';
import { replyMessage } from '#support/messages.ts';
import { usageOfCall } from '#support/scripted-runtime.ts';

let memory: MemoryChat;
let chat: Chat;
beforeEach(async () => {
  memory = await openMemoryChat();
  chat = await memory.createChat();
});

const failure = (message: string) => ({ code: 10005, message });

describe('a turn', () => {
  it('stores the message, forwards the reply, stores it, and releases the chat', async () => {
    await memory.clock.advance(1000);
    const started = await memory.start(memory.inputOf(chat, 'Hi'));
    const now = memory.clock.now();
    const lease = { id: started.turn.chat.lease.id, until: now.getTime() + 60_000 };
    expect(await memory.read(chat)).toEqual({ ...chat, lease, updatedAt: now.toISOString() });
    expect(await memory.contents(chat)).toEqual(['Hi']);

    await memory.clock.advance(1000);
    const { events, reply } = await memory.finish(started);
    const message_id = messageId(chat.id, 2);
    expect(events).toEqual([
      { type: 'response.created', message_id, agent_id: 'agent-1', model: 'openai:test' },
      { type: 'response.output_text.delta', delta: 'Hel' },
      { type: 'response.output_text.delta', delta: 'lo' },
      { type: 'response.output_text.completed', message_id, final_text: 'Hello', usage: usageOfCall },
    ]);
    expect(reply).toMatchObject({ content: 'Hello', error: null });
    expect(await memory.history(chat)).toEqual([
      {
        ...{ role: 'user', position: 1, content: 'Hi', attachments: [] },
        createdAt: now.toISOString(),
      },
      replyMessage(2, 'Hello', {
        createdAt: memory.clock.now().toISOString(),
        agentVersionId: 'version-of-agent-1',
        tokenUsage: usageOfCall,
        responseId: expect.stringMatching(/^resp_./),
      }),
    ]);
    expect(await memory.read(chat)).toMatchObject({ lease: null, messageCount: 2 });
  });

  it('follows the one before it, whose messages the model gets', async () => {
    await memory.talk(chat, 'First');
    const between = await memory.history(chat);
    await memory.talk(chat, 'Second');
    expect(await memory.contents(chat)).toEqual(['First', 'Hello', 'Second', 'Hello']);
    expect(memory.model.replies.map(({ request }) => request)).toMatchObject([
      { message: 'First', history: [] },
      { message: 'Second', history: between },
    ]);
  });

  it.each([
    // Characters of the history: twice "First" and "Hello".
    { stage: 20, agent: undefined, messages: 4 },
    { stage: 19, agent: undefined, messages: 2 },
    { stage: 9, agent: undefined, messages: 0 },
    { stage: 9, agent: 20, messages: 4 },
    { stage: 20, agent: 19, messages: 2 },
    { stage: 20, agent: 0, messages: 0 },
  ])('gives the model the characters of the stage, $stage, or of the agent, $agent', async (most) => {
    memory.services.replySettings.historyCharacters = most.stage;
    await memory.publish('agent-1', { meta: { max_history_characters: most.agent } });
    for (const message of ['First', 'First', 'Last']) await memory.talk(chat, message);
    expect(memory.model.replies[2]?.request.history).toHaveLength(most.messages);
  });

  it('may be the last one of a full chat', async () => {
    await memory.services.chats.takeOverLease(chat, { id: 'filling', until: 0 });
    await memory.services.chats.releaseLease(chat, 'filling', limits.messagesOfChat - 2);
    await memory.talk(chat, 'The last');
    const full = await memory.read(chat);
    expect(full.messageCount).toBe(limits.messagesOfChat);
    await expect(memory.send(memory.inputOf(chat, 'One more'))).rejects.toThrow('The chat is full');
    expect(await memory.read(chat)).toEqual(full);
  });
});

describe('before the user message is stored', () => {
  it('the model is called, but the turn is not started', async () => {
    const put = delayedCall(memory.services.messages.put);
    const messages = { ...memory.services.messages, put: put.call };
    let isStarted = false;
    const starting = memory.start(memory.inputOf(chat, 'Hi'), { services: { messages } });
    void starting.then(() => {
      isStarted = true;
    });
    await put.arrived;
    await memory.clock.advance(1000);
    expect([memory.model.replies.length, isStarted]).toEqual([1, false]);
    put.open();
    // The events until then were buffered.
    const { events } = await memory.finish(await starting);
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.completed',
    ]);
  });

  it.each([null, 'key'])(
    'a failure of the table ends the send with its key %s: model aborted, chat free',
    async (hash) => {
      memory.model.pause();
      const broken = async () => {
        throw new Error('The table is down');
      };
      const messages = { ...memory.services.messages, put: broken, putWithKey: broken };
      const key = hash === null ? null : memory.keyOf(hash);
      const sending = memory.send(memory.inputOf(chat, 'Hi'), { key, services: { messages } });
      await expect(sending).rejects.toThrow('The table is down');
      expect(memory.model.replies[0]?.request.signal.aborted).toBe(true);
      expect(await memory.read(chat)).toMatchObject({ lease: null, messageCount: 0 });
      // It is no turn, and the model was not reached.
      expect(memory.uses).toMatchObject([{ counts: {}, calls: [] }]);
    },
  );

  it('a failure waits until the aborted model has ended, because Lambda freezes what runs after it', async () => {
    memory.model.onReply = () => undefined;
    const put = async () => {
      throw new Error('The table is down');
    };
    let isOver = false;
    const sending = memory
      .send(memory.inputOf(chat, 'Hi'), { services: { messages: { ...memory.services.messages, put } } })
      .finally(() => {
        isOver = true;
      });
    sending.catch(() => undefined);
    await vi.waitUntil(() => memory.model.replies[0]?.request.signal.aborted);
    await memory.clock.advance(1000);
    expect(isOver).toBe(false);
    memory.model.replies[0]?.fail(new Error('Aborted'));
    await expect(sending).rejects.toThrow('The table is down');
  });

  it('a lost response of the table closes the turn, whose message is stored', async () => {
    const messages = {
      ...memory.services.messages,
      async put(...inputs: Parameters<typeof memory.services.messages.put>) {
        await memory.services.messages.put(...inputs);
        throw new Error('The response was lost');
      },
    };
    const sending = memory.send(memory.inputOf(chat, 'Hi'), { services: { messages } });
    await expect(sending).rejects.toThrow('The response was lost');
    expect(await memory.history(chat)).toMatchObject([
      { content: 'Hi' },
      { content: '', error: failure('The reply was interrupted') },
    ]);
    expect(await memory.read(chat)).toMatchObject({ lease: null, messageCount: 2 });
  });

  it('a failure to close the turn as well is the same error; the lease expires', async () => {
    const broken = (message: string) => async () => {
      throw new Error(message);
    };
    const services = {
      messages: { ...memory.services.messages, put: broken('The table is down') },
      chats: { ...memory.services.chats, openTurn: broken('Still down') },
    };
    const sending = memory.send(memory.inputOf(chat, 'Hi'), { services });
    await expect(sending).rejects.toThrow('The table is down');
    await memory.clock.advance(60_000);
    await memory.talk(chat, 'Again');
    expect(await memory.contents(chat)).toEqual(['Again', 'Hello']);
  });
});
