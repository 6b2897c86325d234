import { beforeEach, describe, expect, it, vi } from 'vitest';
import { limits } from '#contract/limits.ts';
import type { Chat } from '#domain/chats/chat.ts';
import { watchEnd } from '#support/manual-clock.ts';
import { type MemoryChat, openMemoryChat } from '#support/memory-chat.ts';

let memory: MemoryChat;
let chat: Chat;
beforeEach(async () => {
  memory = await openMemoryChat();
  chat = await memory.createChat();
});

describe('a turn', () => {
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
  it('a failure waits until the aborted model has ended, because Lambda freezes what runs after it', async () => {
    memory.model.onReply = () => undefined;
    const put = async () => {
      throw new Error('The table is down');
    };
    const messages = { ...memory.services.messages, put };
    const sending = memory.send(memory.inputOf(chat, 'Hi'), { services: { messages } });
    const end = watchEnd(sending);
    await vi.waitUntil(() => memory.model.replies[0]?.request.signal.aborted);
    await memory.clock.advance(1000);
    expect(end.isReached).toBe(false);
    memory.model.replies[0]?.fail(new Error('Aborted'));
    await expect(sending).rejects.toThrow('The table is down');
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
