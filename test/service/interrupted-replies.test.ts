import { describe, expect, it } from 'vitest';
import { noUsage } from '#domain/chats/message.ts';
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
});
