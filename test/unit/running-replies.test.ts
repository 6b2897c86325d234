import { beforeEach, describe, expect, it, vi } from 'vitest';
import { limits } from '#contract/limits.ts';
import type { Chat } from '#domain/chats/chat.ts';
import { renameChat } from '#domain/chats/chats.ts';
import { isFailedByModel, type Reply, ReplyAborted } from '#domain/chats/collect-reply.ts';
import { noUsage } from '#domain/chats/message.ts';
import { ModelFailure, NotStorable } from '#domain/platform/failures.ts';
import { watchEnd } from '#support/manual-clock.ts';
import { delayedCall, type MemoryChat, openMemoryChat } from '#support/memory-chat.ts';
import { replyMessage } from '#support/messages.ts';
import type { ScriptedReply } from '#support/scripted-runtime.ts';

let memory: MemoryChat;
let chat: Chat;
beforeEach(async () => {
  memory = await openMemoryChat();
  chat = await memory.createChat();
});

const failure = (message: string) => ({ code: 10005, message });
const failing = (message: string) => () => Promise.reject(new Error(message));

/** Starts a turn whose reply the test plays. */
async function play(deadline?: number) {
  memory.model.pause();
  const options = deadline === undefined ? {} : { deadline };
  const finishing = memory.finish(await memory.start(memory.inputOf(chat, 'Hi'), options));
  return { reply: memory.model.replies.at(-1) as ScriptedReply, finishing };
}

describe('a model that stalls', () => {
  it('for the idle timeout is aborted, and its text so far is stored', async () => {
    const { reply, finishing } = await play();
    reply.text('Half');
    await memory.clock.advance(89_999);
    expect(reply.request.signal.aborted).toBe(false);
    await memory.clock.advance(1);
    expect(reply.request.signal.aborted).toBe(true);
    const { reply: stored, events } = await finishing;
    expect(stored).toMatchObject({ content: 'Half', error: failure('Stream timed out') });
    expect(events.at(-1)).toEqual({ type: 'response.error', ...failure('Stream timed out') });
    expect((await memory.history(chat))[1]).toMatchObject({
      content: 'Half',
      error: failure('Stream timed out'),
    });
    expect(memory.logged).toContain('meter: openai:test stalled');
    expect(await memory.read(chat)).toMatchObject({ lease: null, messageCount: 2 });
  });

  it('is not one that waits for its files: the time starts with the first call of a model', async () => {
    const { reply, finishing } = await play(300_000);
    await memory.clock.advance(200_000);
    reply.startCall();
    await memory.clock.advance(89_999);
    expect(reply.request.signal.aborted).toBe(false);
    await memory.clock.advance(1);
    expect((await finishing).reply.error).toEqual(failure('Stream timed out'));
  });

  it('for less each time, is not aborted: each event counts, a later call of a model does not', async () => {
    const { reply, finishing } = await play();
    reply.startCall()();
    const step = { id: 'step-1', type: 'consultant_search_web', content: '', args: {} };
    const result = { success: true, data: null };
    const events = [
      () => reply.emit({ type: 'progress' }),
      () => reply.text('One'),
      () => reply.emit({ type: 'response.reasoning_step.start', step }),
      () =>
        reply.emit({
          type: 'response.reasoning_step.end',
          step: { id: 'step-1', token_usage: noUsage, result },
        }),
    ];
    for (const emit of events) {
      await memory.clock.advance(89_999);
      emit();
    }
    await memory.clock.advance(89_999);
    expect(reply.request.signal.aborted).toBe(false);
    reply.startCall()();
    await memory.clock.advance(1);
    expect((await finishing).reply.error).toEqual(failure('Stream timed out'));
  });
});

it('nothing that a model says after its abort is forwarded or stored', async () => {
  const { reply, finishing } = await play();
  reply.text('Half');
  await memory.clock.advance(90_000);
  reply.text(' and the rest');
  reply.end();
  const { events } = await finishing;
  expect(await memory.contents(chat)).toEqual(['Hi', 'Half']);
  expect(events.filter(({ type }) => type === 'response.output_text.delta')).toHaveLength(1);
});

it('what still runs at an abort ends with it: steps have failed, calls have an unknown usage', async () => {
  const { reply, finishing } = await play();
  reply.startCall()();
  reply.startCall();
  const step = { type: 'consultant_search_web', content: 'A query', args: { query: 'a' } };
  const ended = { success: true, data: 'found' };
  reply.emit({ type: 'response.reasoning_step.start', step: { id: 'ended', ...step } });
  reply.emit({
    type: 'response.reasoning_step.end',
    step: { id: 'ended', token_usage: noUsage, result: ended },
  });
  reply.emit({ type: 'response.reasoning_step.start', step: { id: 'running', ...step } });
  await memory.clock.advance(90_000);
  const { events } = await finishing;
  const result = { success: false, data: { message: 'The reply was interrupted' } };
  expect((await memory.history(chat))[1]).toMatchObject({
    reasoningSteps: [
      { id: 'ended', result: ended },
      { id: 'running', result, ended_at: memory.clock.now().toISOString() },
    ],
    tokenUsage: { total_calls: 2, total_tokens: 12 },
  });
  expect(events.slice(-2)).toMatchObject([
    { type: 'response.reasoning_step.end', step: { id: 'running', result } },
    { type: 'response.error' },
  ]);
  expect(memory.uses[0]?.calls).toEqual([
    ['openai:test', 'chat', 10, 2],
    ['openai:test', 'chat', 0, 0],
  ]);
});

describe('a title', () => {
  beforeEach(() => memory.changeWorkspace({ titlesEnabled: true }));

  it.each([
    ['shutdown', failure('The reply was interrupted')],
    ['lease-lost', failure('The reply was interrupted')],
    ['stopped-by-client', null],
  ] as const)('is aborted with the reply: %s', async (kind, error) => {
    memory.model.pause();
    memory.model.onTitle = () => new Promise(() => undefined);
    const started = await memory.start(memory.inputOf(chat, 'Hi'));
    const finishing = memory.finish(started);
    await memory.clock.advance(0);
    memory.model.replies[0]?.text('Text');
    started.running.stop.abort(new ReplyAborted(kind, 'The reply was interrupted'));
    // Without a further moment of the clock.
    expect((await finishing).reply).toMatchObject({ content: 'Text', error });
    expect(memory.model.titles.map(({ signal }) => signal.aborted)).toEqual([true]);
  });

  it('is made after a reply without a text, such as a form', async () => {
    memory.model.onReply = (reply) => reply.end();
    const { events } = await memory.talk(chat, 'Hi');
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.output_text.completed',
      'response.chat.title.updated',
    ]);
  });

  it('that takes longer than 2 s after the reply is aborted', async () => {
    memory.model.onTitle = () => new Promise(() => undefined);
    const { reply, finishing } = await play();
    reply.text('Hello');
    await memory.clock.advance(60_000);
    reply.end();
    await memory.clock.advance(0);
    await memory.clock.advance(1999);
    expect(await memory.read(chat)).toMatchObject({ lease: null, messageCount: 2 });
    expect(memory.model.titles[0]?.signal.aborted).toBe(false);
    await memory.clock.advance(1);
    expect(memory.model.titles[0]?.signal.aborted).toBe(true);
    expect((await finishing).events.at(-1)?.type).toBe('response.output_text.completed');
    expect((await memory.read(chat)).name).toBe('A chat');
  });

  it('replaces no name that a client has given meanwhile', async () => {
    const title = Promise.withResolvers<string>();
    memory.model.onTitle = () => title.promise;
    const finishing = memory.finish(await memory.start(memory.inputOf(chat, 'Hi')));
    await memory.clock.advance(0);
    const input = { workspaceId: chat.workspaceId, chatId: chat.id, externalUserId: undefined };
    await renameChat(memory.services, { ...input, name: 'Of the client' }, async () => undefined);
    title.resolve('Of the model');
    const { events } = await finishing;
    expect(events.map(({ type }) => type)).not.toContain('response.chat.title.updated');
    expect((await memory.read(chat)).name).toBe('Of the client');
  });

  it('that is being stored after 2 s delays the end of the function', async () => {
    const { setTitle } = memory.services.chats;
    const writing = Promise.withResolvers<void>();
    memory.services.chats.setTitle = async (...inputs) => {
      await writing.promise;
      return setTitle(...inputs);
    };
    const finishing = memory.finish(await memory.start(memory.inputOf(chat, 'Hi')));
    const end = watchEnd(finishing);
    await memory.clock.advance(0);
    await memory.clock.advance(5000);
    expect(end.isReached).toBe(false);
    writing.resolve();
    await finishing;
    expect((await memory.read(chat)).name).toBe('A title');
  });
});

it('the model has failed a reply, or the service has', () => {
  const ofModel = [
    new ModelFailure('unavailable', 'Down'),
    new ModelFailure('failed', 'It ended too early'),
    new ReplyAborted('idle-timeout', 'Stream timed out'),
    new ReplyAborted('deadline', 'It took longer than 300 seconds'),
  ];
  const ofService = [
    new TypeError('x is undefined'),
    new ReplyAborted('shutdown', 'The process ends'),
    new ReplyAborted('lease-lost', 'Another reply has begun'),
    undefined,
  ];
  const reply = { error: null } as Reply;
  const isOfModel = (error: unknown) => isFailedByModel({ reply, error });
  expect([ofModel.map(isOfModel), ofService.map(isOfModel)]).toEqual([
    [true, true, true, true],
    [false, false, false, false],
  ]);
  // The model has ended the reply: either its text was cut short, or the service has not stored it.
  const cutShort = { error: { code: 10005, message: 'Cut' } } as Reply;
  expect(isFailedByModel({ reply: cutShort, error: undefined })).toBe(true);
});

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
])('a reply %s is stored with its text and an error, and the chat is free', async (_what, message, end) => {
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

describe('a reply that cannot be stored', () => {
  it('now, keeps the chat lease until it expires: it may be stored although the response is lost', async () => {
    const started = await memory.start(memory.inputOf(chat, 'Hi'));
    const messages = { ...memory.services.messages, put: failing('The table is down') };
    const { reply } = await memory.finish(started, { messages });
    expect(reply.error).toEqual(failure('The reply could not be stored'));
    expect(memory.uses).toMatchObject([{ counts: { turns: 1, failedTurns: 1 } }]);
    await expect(memory.send(memory.inputOf(chat, 'Too soon'))).rejects.toThrow('already in progress');
    await memory.clock.advance(60_000);
    await memory.talk(chat, 'Again');
    expect(await memory.contents(chat)).toEqual(['Hi', '', 'Again', 'Hello']);
    expect((await memory.history(chat))[1]).toMatchObject({ error: failure('The reply was interrupted') });
  });

  it('ever, is a failed one with the reason, and the chat goes on at once', async () => {
    const started = await memory.start(memory.inputOf(chat, 'Hi'));
    const put = () => Promise.reject(new NotStorable('A message was rejected'));
    const { reply, events } = await memory.finish(started, {
      messages: { ...memory.services.messages, put },
    });
    const error = failure('The reply could not be stored');
    expect(reply.error).toEqual(error);
    expect(events.at(-1)).toEqual({ type: 'response.error', ...error });
    await memory.talk(chat, 'Again');
    expect(await memory.contents(chat)).toEqual(['Hi', '', 'Again', 'Hello']);
    expect((await memory.history(chat))[1]).toMatchObject({ error });
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
    const chats = { ...memory.services.chats, releaseLease: failing('The table is down') };
    const started = await memory.start(memory.inputOf(chat, 'Hi'));
    const { reply } = await memory.finish(started, { chats });
    expect(reply.error).toBeNull();
    expect(memory.logged).toContain('warn: A chat was not freed');
    await memory.clock.advance(60_000);
    await memory.talk(chat, 'Again');
    expect(await memory.contents(chat)).toEqual(['Hi', 'Hello', 'Again', 'Hello']);
  });
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
    // The workspace wants none.
    expect(memory.model.titles).toEqual([]);
  });

  it('gives the model the history from a round turn on', async () => {
    // Of "Hi" and "Hello", five turns fit.
    memory.services.replySettings.historyCharacters = 35;
    for (let turn = 0; turn <= 10; turn += 1) await memory.talk(chat, 'Hi');
    expect(memory.model.replies[10]?.request.history[0]).toMatchObject({ position: 2 * 6 + 1 });
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
  it('a reply that has ended is not heard', async () => {
    const put = delayedCall(memory.services.messages.put);
    const messages = { ...memory.services.messages, put: put.call };
    const sending = memory.start(memory.inputOf(chat, 'Hi'), { services: { messages } });
    const end = watchEnd(sending);
    await put.arrived;
    await memory.clock.advance(1000);
    expect([memory.model.replies.length, end.isReached]).toEqual([1, false]);
    put.open();
    expect((await memory.finish(await sending)).events.at(-1)).toMatchObject({ final_text: 'Hello' });
  });

  it('a failure waits until the aborted model has ended, because Lambda freezes what runs after it', async () => {
    memory.model.onReply = () => undefined;
    const messages = { ...memory.services.messages, put: failing('The table is down') };
    const sending = memory.send(memory.inputOf(chat, 'Hi'), { services: { messages } });
    const end = watchEnd(sending);
    await vi.waitUntil(() => memory.model.replies[0]?.request.signal.aborted);
    await memory.clock.advance(1000);
    expect(end.isReached).toBe(false);
    memory.model.replies[0]?.fail(new Error('Aborted'));
    await expect(sending).rejects.toThrow('The table is down');
    expect(await memory.contents(chat)).toEqual([]);
    expect(await memory.read(chat)).toMatchObject({ lease: null, messageCount: 0 });
  });

  it('a failure to close the turn as well is the same error; the lease expires', async () => {
    const services = {
      messages: { ...memory.services.messages, put: failing('The table is down') },
      chats: { ...memory.services.chats, openTurn: failing('Still down') },
    };
    const sending = memory.send(memory.inputOf(chat, 'Hi'), { services });
    await expect(sending).rejects.toThrow('The table is down');
    await memory.clock.advance(60_000);
    await memory.talk(chat, 'Again');
    expect(await memory.contents(chat)).toEqual(['Again', 'Hello']);
  });
});
