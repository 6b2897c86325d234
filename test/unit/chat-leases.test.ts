import { beforeEach, describe, expect, it } from 'vitest';
import type { Chat } from '#domain/chats/chat.ts';
import type { StartedTurn } from '#domain/chats/send-turn.ts';
import { closeAbandonedTurn } from '#domain/chats/turn.ts';
import { watchEnd } from '#support/manual-clock.ts';
import { delayedCall, type MemoryChat, openMemoryChat } from '#support/memory-chat.ts';
import { replyMessage, userMessage } from '#support/messages.ts';

let memory: MemoryChat;
let chat: Chat;
beforeEach(async () => {
  memory = await openMemoryChat();
  chat = await memory.createChat();
});

const busy = 'A reply is already in progress for this chat';
const interrupted = { code: 10005, message: 'The reply was interrupted' };
const input = (message = 'Hi') => memory.inputOf(chat, message);
/** Of a function whose leases expire as soon as it takes them. */
const withoutLease = () => ({ replySettings: { ...memory.services.replySettings, lease: 0 } });
/** The lease of a function that has died. */
async function leaseTo(until: number): Promise<Chat> {
  const lease = { id: 'dead', until };
  await memory.services.chats.takeOverLease(await memory.read(chat), lease);
  return memory.read(chat);
}

describe('a send that the gateway repeats', () => {
  const repeated = { requestId: 'request-1' };
  async function dieBeforeMessage(request: typeof repeated): Promise<void> {
    const put = () => Promise.reject(new Error('The function has died'));
    const messages = { ...memory.services.messages, put };
    await expect(memory.send(input(), { ...request, services: { messages } })).rejects.toThrow('has died');
  }

  it('starts no second turn after its function has died, with or without its message', async () => {
    await memory.talk(chat, 'Before');
    const started = await memory.start(input(), { ...repeated, services: withoutLease() });
    expect(await memory.send(input(), repeated)).toMatchObject({
      reply: { content: '', error: interrupted },
    });
    await started.running.abort();
    const lost = { requestId: 'request-2' };
    await dieBeforeMessage(lost);
    await expect(memory.send(input(), lost)).rejects.toThrow(busy);
    expect(await memory.contents(chat)).toEqual(['Before', 'Hello', 'Hi', '']);
  });

  it('gets no reply of another turn that has its position', async () => {
    await dieBeforeMessage(repeated);
    // A request of a batch takes the lease without an id.
    const { workspaceId, id: chatId, agentId } = chat;
    const lease = { id: 'batch:1:0', until: memory.clock.now().getTime() + 1000 };
    const now = memory.clock.now().toISOString();
    await memory.services.chats.takeLease({
      ...{ workspaceId, chatId, agentId, externalUserId: undefined, lease, now },
    });
    for (const message of [userMessage(1, 'Of a batch'), replyMessage(2, 'To the batch')])
      await memory.services.messages.put(chat, message);
    await memory.services.chats.releaseLease(chat, lease.id, 2);
    await expect(memory.send(input(), repeated)).rejects.toThrow(busy);
  });

  it('is a new turn to its own further attempts', async () => {
    await memory.services.messages.put(chat, userMessage(1, 'Dead'));
    await leaseTo(0);
    await memory.finish(await memory.start(input(), repeated));
    expect(await memory.contents(chat)).toEqual(['Dead', '', 'Hi', 'Hello']);
    expect(await memory.send(input(), repeated)).toMatchObject({ reply: { position: 4 } });
  });
});

describe('a send to a chat with a lease', () => {
  it('is rejected until the lease expires', async () => {
    await leaseTo(memory.clock.now().getTime() + 1000);
    await memory.clock.advance(999);
    await expect(memory.send(input())).rejects.toMatchObject({ message: busy, retryAfter: 1 });
    expect(memory.model.replies).toEqual([]);
    await memory.clock.advance(1);
    await memory.finish(await memory.start(input()));
    expect(await memory.contents(chat)).toEqual(['Hi', 'Hello']);
  });

  it.each([
    { what: 'nothing', stored: [], closed: [] },
    { what: 'a user message', stored: [userMessage(3, 'Dead')], closed: ['Dead', ''] },
    {
      what: 'both messages',
      stored: [userMessage(3, 'Dead'), replyMessage(4, 'Stored')],
      closed: ['Dead', 'Stored'],
    },
  ])('closes an abandoned turn of which $what is stored', async ({ stored, closed }) => {
    await memory.talk(chat, 'Before');
    for (const message of stored) await memory.services.messages.put(chat, message);
    await leaseTo(0);
    await memory.finish(await memory.start(input('Next')));
    expect(await memory.contents(chat)).toEqual(['Before', 'Hello', ...closed, 'Next', 'Hello']);
    const { messageCount, lease } = await memory.read(chat);
    expect({ messageCount, lease }).toEqual({ messageCount: 4 + closed.length, lease: null });
    expect(memory.model.replies[1]?.request.history).toHaveLength(2 + closed.length);
    // The reply of a dead function was counted by no function, and this one has counted its own.
    expect(memory.uses).toHaveLength(2);
  });
});

it('a function that was slow and stores its message at the position of another turn, makes that one retry at the next', async () => {
  const [slowPut, put] = [0, 1].map(() => delayedCall(memory.services.messages.put));
  const sendWith = (message: string, delayed = slowPut, settings = {}) => {
    const messages = { ...memory.services.messages, put: delayed?.call ?? memory.services.messages.put };
    return memory.start(input(message), { services: { messages, ...settings } });
  };
  const slow = sendWith('Slow', slowPut, withoutLease());
  await slowPut?.arrived;
  const retried = sendWith('Retried', put);
  await put?.arrived;
  slowPut?.open();
  const slowTurn = await slow;
  put?.open();
  const turn = await retried;
  expect([slowTurn.turn.position, turn.turn.position]).toEqual([1, 3]);
  expect((await memory.finish(slowTurn)).reply.error).toEqual(interrupted);
  expect((await memory.finish(turn)).reply.error).toBeNull();
  expect(await memory.contents(chat)).toEqual(['Slow', '', 'Retried', 'Hello']);
  expect(await memory.read(chat)).toMatchObject({ lease: null, messageCount: 4 });
});

it('a send that gets its lease with less than half of its time left starts no reply, and frees the chat', async () => {
  const take = delayedCall(memory.services.chats.takeLease);
  const chats = { ...memory.services.chats, takeLease: take.call };
  const sending = memory.send(input(), { services: { chats } });
  await take.arrived;
  await memory.clock.advance(memory.services.replySettings.lease / 2 + 1);
  take.open();
  await expect(sending).rejects.toThrow(busy);
  expect(memory.model.replies).toEqual([]);
  expect(await memory.read(chat)).toMatchObject({ lease: null, messageCount: 0 });
});

it('a send whose position is always taken ends after five attempts, and nothing runs on', async () => {
  memory.model.pause();
  const messages = { ...memory.services.messages, put: async () => false };
  await expect(memory.send(input(), { services: { messages } })).rejects.toThrow(busy);
  expect(memory.model.replies.map(({ request }) => request.signal.aborted)).toEqual(Array(5).fill(true));
  expect(await memory.read(chat)).toMatchObject({ lease: null, messageCount: 0 });
});

describe('a history that cannot be read', () => {
  const broken = () => ({
    ...memory.services.messages,
    recent: async (_chat: unknown, upTo: number | Promise<number>) => {
      await Promise.allSettled([upTo]);
      throw new Error('The table is down');
    },
  });

  it('fails the send and releases the chat', async () => {
    const sending = memory.send(input(), { services: { messages: broken() } });
    await expect(sending).rejects.toThrow('The table is down');
    expect(await memory.read(chat)).toMatchObject({ lease: null, messageCount: 0 });
    expect(memory.model.replies).toEqual([]);
  });

  it('fails the send also if the chat cannot be released', async () => {
    const releaseLease = () => Promise.reject(new Error('Still down'));
    const chats = { ...memory.services.chats, releaseLease };
    const sending = memory.send(input(), { services: { messages: broken(), chats } });
    await expect(sending).rejects.toThrow('The table is down');
  });

  it('is not the error of a send without a lease', async () => {
    await leaseTo(memory.clock.now().getTime() + 1);
    await expect(memory.send(input(), { services: { messages: broken() } })).rejects.toThrow(busy);
  });
});

describe('closing an abandoned turn', () => {
  const close = (abandoned: Chat, reason?: string) => closeAbandonedTurn(memory.services, abandoned, reason);

  it('gives a reason as the error of the empty reply', async () => {
    await memory.services.messages.put(chat, userMessage(1));
    await close(await leaseTo(0), 'It was too long');
    expect((await memory.history(chat))[1]).toEqual(
      replyMessage(2, '', {
        agentVersionId: null,
        createdAt: memory.clock.now().toISOString(),
        responseId: 'resp_dead',
        error: { code: 10005, message: 'It was too long' },
      }),
    );
  });

  it('leaves a turn that has another lease now', async () => {
    const abandoned = await leaseTo(0);
    await memory.services.messages.put(chat, userMessage(1));
    await memory.services.chats.takeOverLease(abandoned, { id: 'next', until: 1 });
    const leased = await memory.read(chat);
    await close(abandoned);
    expect(await memory.read(chat)).toEqual(leased);
    expect(await memory.history(chat)).toHaveLength(1);
  });

  it('has the reply that its function stores meanwhile', async () => {
    await memory.services.messages.put(chat, userMessage(1));
    const abandoned = await leaseTo(0);
    const put = delayedCall(memory.services.messages.putAndRelease);
    const closing = closeAbandonedTurn(
      { ...memory.services, messages: { putAndRelease: put.call } },
      abandoned,
    );
    await put.arrived;
    await memory.services.messages.put(chat, replyMessage(2, 'Stored'));
    put.open();
    await closing;
    expect(await memory.contents(chat)).toEqual(['message 1', 'Stored']);
    expect(await memory.read(chat)).toMatchObject({ lease: null, messageCount: 2 });
  });
});

describe('the lease of a running reply', () => {
  it('is renewed at every third of its time, until the reply ends', async () => {
    memory.model.pause();
    const started = await memory.start(input());
    const finishing = memory.finish(started);
    const start = memory.clock.now().getTime();
    for (const seconds of [20, 40, 60, 80]) {
      await memory.clock.advance(19_999);
      memory.model.replies[0]?.text('on ');
      await memory.clock.advance(1);
      expect((await memory.read(chat)).lease?.until).toBe(start + (seconds + 60) * 1000);
      await expect(memory.send(input('Too soon'))).rejects.toThrow(busy);
    }
    memory.model.replies[0]?.end();
    expect((await finishing).reply).toMatchObject({ content: 'on on on on ', error: null });
    let renewals = 0;
    memory.services.chats.renewLease = async () => {
      renewals += 1;
      return true;
    };
    await memory.clock.advance(120_000);
    expect(renewals).toBe(0);
  });

  it('may fail to be renewed: the next renewal follows', async () => {
    memory.model.pause();
    const { renewLease } = memory.services.chats;
    memory.services.chats.renewLease = async () => {
      throw new Error('The table is down');
    };
    const finishing = memory.finish(await memory.start(input()));
    await memory.clock.advance(20_000);
    expect(memory.logged).toEqual(['warn: A lease was not renewed']);
    memory.services.chats.renewLease = renewLease;
    await memory.clock.advance(20_000);
    memory.model.replies[0]?.end();
    expect((await finishing).reply.error).toBeNull();
    expect(await memory.read(chat)).toMatchObject({ lease: null, messageCount: 2 });
  });

  it('is being renewed when the reply ends: the turn is finished after that', async () => {
    memory.model.pause();
    const renewing = Promise.withResolvers<boolean>();
    memory.services.chats.renewLease = () => renewing.promise;
    const finishing = memory.finish(await memory.start(input()));
    const end = watchEnd(finishing);
    await memory.clock.advance(20_000);
    memory.model.replies[0]?.end();
    await memory.clock.advance(10_000);
    expect([end.isReached, (await memory.read(chat)).messageCount]).toEqual([false, 2]);
    renewing.resolve(false);
    await finishing;
    expect((await memory.history(chat))[1]).toMatchObject({ error: null });
  });
});

/** Sends with one key. */
const options = () => ({ key: memory.keyOf('key') });
/** Starts a turn, whose function dies. */
const startAndDie = async () => {
  await memory.start(input(), options());
  await memory.clock.advance(60_000);
};
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

  it('gets its reply in its form from an agent that has a form of its own since then', async () => {
    const json_schema = { name: 'count', schema: { type: 'object' } };
    const inForm = memory.inputOf(chat, 'Hi', { responseFormat: { type: 'json_schema', json_schema } });
    await memory.finish(await memory.start(inForm, options()));
    const version = await memory.services.agents.published(chat.workspaceId, chat.agentId);
    if (version === undefined) throw new Error('The agent is not published');
    const definition = { ...version.definition, output_schema: { type: 'object' } };
    const services = {
      agents: { ...memory.services.agents, published: async () => ({ ...version, definition }) },
    };
    expect(repliesOf(await memory.send(inForm, { ...options(), services }))).toBe('Hello');
    await expect(memory.send(inForm, { services })).rejects.toThrow('the agent has a schema of its own');
  });

  it('gets its reply only within the rate limit, and only a listed user gets it', async () => {
    await memory.finish(await memory.start(input(), options()));
    const awaitRateLimit = () => Promise.reject(new Error('Rate limit exceeded'));
    await expect(memory.send(input(), { ...options(), awaitRateLimit })).rejects.toThrow('Rate limit');
    await memory.changeWorkspace({ whitelistEnabled: true });
    await expect(memory.send(input(), options())).rejects.toMatchObject({ kind: 'clientNotAllowed' });
  });

  it('finds no chat that is deleted and purged while it reads', async () => {
    await memory.finish(await memory.start(input(), options()));
    const { chats, chatTraces } = memory.services;
    const get: typeof chats.get = async (workspaceId, chatId) => {
      const found = await chats.get(workspaceId, chatId);
      await chats.delete([chat], chat.createdAt);
      await chatTraces.deleteMessages({ workspaceId, chatId, deletedAt: chat.createdAt }, () => true);
      return found;
    };
    const services = { chats: { ...chats, get } };
    await expect(memory.send(input(), { ...options(), services })).rejects.toThrow('Chat not found');
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
    await startAndDie();
    expect((await memory.start(input(), options())).turn.makesTitle).toBe(true);
  });

  it('tells the model the same', async () => {
    await memory.talk(chat, 'Before');
    await startAndDie();
    await memory.finish(await memory.start(input(), options()));
    const [, first, second] = memory.model.replies.map(({ request: { history, message } }) => ({
      history,
      message,
    }));
    expect(first).toMatchObject({ history: [{ content: 'Before' }, { content: 'Hello' }], message: 'Hi' });
    expect(second).toEqual(first);
    expect(await memory.contents(chat)).toEqual(['Before', 'Hello', 'Hi', 'Hello']);
  });

  it('has failed if another message came before it', async () => {
    await startAndDie();
    await memory.talk(chat, 'Another');
    expect(await memory.send(input(), options())).toMatchObject({
      reply: { content: '', error: interrupted },
    });
    expect(await memory.contents(chat)).toEqual(['Hi', '', 'Another', 'Hello']);
  });

  it('needs a published agent', async () => {
    await startAndDie();
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

  it('end after five attempts if the turn changes each time', async () => {
    await startAndDie();
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
