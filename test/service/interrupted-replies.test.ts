import { describe, expect, it } from 'vitest';
import { noUsage } from '#domain/chats/message.ts';
import type { ApiResponse } from '#support/client.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { dataTableOf } from '#support/data-table.ts';
import { functionIds } from '#support/entry-points.ts';
import { replyWith } from '#support/model-server.ts';
import {
  contentsOf,
  createChat,
  historyOf,
  interrupted,
  rejectedWhileResponding,
  send,
  startReplyWith,
} from '#support/turns.ts';
import { useScriptedService } from '#support/use-service.ts';

const { model, callFor, service, tenant, client } = await useScriptedService({
  maxConcurrency: 4,
  faults: { transactionConflicts: true },
});
const table = closeAfterTests(dataTableOf(service));

const startReply = (message: string) => startReplyWith({ client, tenant, callFor }, message);

describe('a client that leaves', () => {
  const wholeReply = async (chatId: number, message: string, content: string) => {
    await expect.poll(async () => contentsOf(await historyOf(client, chatId))).toEqual([message, content]);
    const history = await historyOf(client, chatId);
    expect(history[1]?.meta.error).toBeUndefined();
    expect(history[1]?.meta.token_usage).toMatchObject({ total_tokens: 18 });
    // The reply is stored first; the chat lease is released shortly after.
    await expect.poll(async () => (await send(client, tenant, chatId, 'Back again')).body.data).toBe('Hello');
    expect(model.calls.at(-1)?.request.messages).toEqual([
      { role: 'user', content: message },
      { role: 'assistant', content },
      { role: 'user', content: 'Back again' },
    ]);
  };

  it('in the middle of a reply gets the whole of it in the history', async () => {
    const { chatId, events, call } = await startReply('leave in the middle');
    await events.leave();
    call.chunk('two, ');
    // While the model continues, the chat keeps its lease.
    expect(await send(client, tenant, chatId, 'too soon')).toMatchObject(rejectedWhileResponding);
    expect(contentsOf(await historyOf(client, chatId))).toEqual(['leave in the middle']);
    replyWith(call, 'three');
    await wholeReply(chatId, 'leave in the middle', 'One, two, three');
  });

  it.each([
    ['before the first word', true],
    ['with stream false', false],
  ])('%s gets the whole reply in the history', async (message, stream) => {
    const chatId = await createChat(client, tenant);
    const called = callFor(message);
    const leaving = new AbortController();
    const body = { message, agent_id: tenant.agentId, stream };
    const path = `/chats/${chatId}/messages`;
    const responding = client.request('POST', path, { body, signal: leaving.signal });
    if (stream) await responding;
    const call = await called;
    leaving.abort();
    if (!stream) await expect(responding).rejects.toThrow();
    replyWith(call, 'All of it');
    await wholeReply(chatId, message, 'All of it');
  });
});

describe('a function that is killed', () => {
  const kill = async ({ chatId, events, call }: Awaited<ReturnType<typeof startReply>>) => {
    service.run.killWorkers(functionIds['send-message']);
    // The stream breaks with an error, so a client cannot take the partial reply for a complete one.
    await expect(events.rest()).rejects.toThrow();
    await call.gone;
    // Until the lease expires, the service cannot know that its owner is dead.
    expect(await send(client, tenant, chatId, 'too soon')).toMatchObject(rejectedWhileResponding);
    await table.endLease({ workspaceId: tenant.workspaceId, chatId });
  };

  it('frees its chat when the lease ends; the next sender settles its turn', async () => {
    const reply = await startReply('killed');
    const { chatId } = reply;
    expect(contentsOf(await historyOf(client, chatId))).toEqual(['killed']);
    await kill(reply);
    expect(contentsOf(await historyOf(client, chatId))).toEqual(['killed']);

    const next = callFor('go on');
    const sending = send(client, tenant, chatId, 'go on');
    const call = await next;
    expect(call.request.messages).toEqual([{ role: 'user', content: 'killed\n\ngo on' }]);
    const closed = await historyOf(client, chatId);
    expect(contentsOf(closed)).toEqual(['killed', '', 'go on']);
    expect(closed[1]?.meta).toEqual({
      error: interrupted,
      reasoning_steps: [],
      token_usage: noUsage,
    });
    replyWith(call, 'Gladly');
    expect((await sending).body.data).toBe('Gladly');
    expect(contentsOf(await historyOf(client, chatId))).toEqual(['killed', '', 'go on', 'Gladly']);
  });

  it('frees its chat three seconds after a stop, and its reply is a stopped one', async () => {
    const { chatId, events, call } = await startReply('killed and stopped');
    service.run.killWorkers(functionIds['send-message']);
    await expect(events.rest()).rejects.toThrow();
    await call.gone;
    expect(await client.post(`/chats/${chatId}/stop`, {})).toMatchObject({
      status: 202,
      body: { data: { chat_id: chatId, status: 'stopping' } },
    });
    await expect.poll(async () => (await send(client, tenant, chatId, 'go on')).body.data).toBe('Hello');
    const [, reply] = await historyOf(client, chatId);
    expect(reply).toMatchObject({ content: '', meta: { incomplete: 'stopped' } });
    expect(reply?.meta.error).toBeUndefined();
  });

  it('leaves a chat that many senders race for, and one of them wins', async () => {
    const reply = await startReply('killed before a race');
    const { chatId } = reply;
    await kill(reply);
    const called = callFor('race');
    const responses: ApiResponse[] = [];
    const sending = ['race', 'race', 'race'].map(async (message) => {
      responses.push(await send(client, tenant, chatId, message));
    });
    const call = await called;
    await expect.poll(() => responses.length).toBe(2);
    for (const response of responses) expect(response).toMatchObject(rejectedWhileResponding);
    await expect
      .poll(async () => contentsOf(await historyOf(client, chatId)))
      .toEqual(['killed before a race', '', 'race']);
    replyWith(call, 'Won');
    await Promise.all(sending);
    expect(contentsOf(await historyOf(client, chatId))).toEqual(['killed before a race', '', 'race', 'Won']);
  });
});

it.each([2, 10])('lets one of %i messages sent at once win', async (count) => {
  const chatId = await createChat(client, tenant);
  await send(client, tenant, chatId, 'before');
  const message = `race of ${count}`;
  const called = callFor(message);
  const calls = model.calls.length;
  const rejected: ApiResponse[] = [];
  const sending = Array.from({ length: count }, async () => {
    const response = await send(client, tenant, chatId, message);
    if (response.status !== 200) rejected.push(response);
    return response;
  });
  const call = await called;
  call.chunk('Won');
  // The model finishes the winner's reply only after all others have their responses.
  await expect.poll(() => rejected.length).toBe(count - 1);
  call.finish();
  const won = (await Promise.all(sending)).filter(({ status }) => status === 200);
  expect(won.map(({ body }) => body.data)).toEqual(['Won']);
  for (const response of rejected) expect(response).toMatchObject(rejectedWhileResponding);
  expect(model.calls.length - calls).toBe(1);
  expect(contentsOf(await historyOf(client, chatId))).toEqual(['before', 'Hello', message, 'Won']);
});

it('keeps every pair together when many clients talk in one chat as fast as they can', async () => {
  const chatId = await createChat(client, tenant);
  const sent: string[] = [];
  const talk = async (name: string) => {
    for (let turn = 0; turn < 3; ) {
      const message = `${name} ${turn}`;
      const response = await send(client, tenant, chatId, message);
      if (response.status === 200) {
        sent.push(message);
        turn += 1;
      } else expect(response).toMatchObject(rejectedWhileResponding);
    }
  };
  await Promise.all(['one', 'two', 'three'].map(talk));
  const contents = contentsOf(await historyOf(client, chatId));
  expect(contents.filter((_, index) => index % 2 === 0).sort()).toEqual(sent.sort());
  expect(contents.filter((_, index) => index % 2 === 1)).toEqual(sent.map(() => 'Hello'));
});

it('answers in many chats at once', async () => {
  const chats = await Promise.all(Array.from({ length: 8 }, () => createChat(client, tenant)));
  const responses = await Promise.all(chats.map((chatId) => send(client, tenant, chatId, `in ${chatId}`)));
  expect(responses.map(({ status }) => status)).toEqual(chats.map(() => 200));
  for (const chatId of chats)
    expect(contentsOf(await historyOf(client, chatId))).toEqual([`in ${chatId}`, 'Hello']);
});
