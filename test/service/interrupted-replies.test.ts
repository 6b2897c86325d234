import { describe, expect, it } from 'vitest';
import { endOfStream, eventOf } from '#contract/events.ts';
import { checkEnded, runBatch } from '#support/batches.ts';
import { functionIds, isReplier } from '#support/entry-points.ts';
import { fileBucketOf } from '#support/file-bucket.ts';
import { replyWith } from '#support/model-server.ts';
import { summaryOf } from '#support/open-tenant.ts';
import { rejection, useProxiedService } from '#support/proxied-service.ts';
import { allOf, pathOf, streamsOf, take, textsOf } from '#support/resumable-streams.ts';
import { createTenant } from '#support/service.ts';
import {
  contentsOf,
  createChat,
  historyOf,
  interrupted,
  rejectedWhileResponding,
  send,
  startReplyWith,
} from '#support/turns.ts';
import { filePart, form, uploaderOf } from '#support/upload.ts';

const { model, callFor, service, tenant, client, proxy, table } = await useProxiedService({
  // The leases are so long that only a test ends them.
  variables: { LEASE_SECONDS: '240' },
  maxConcurrency: 3,
});
const { start, resume } = streamsOf({ client, tenant });

it('a stream whose function has died ends with an error when its lease ends, and its text is in the history', async () => {
  const called = callFor('killed stream');
  const { chatId, texts, first, responseId } = await start('killed stream');
  (await called).chunk('One, ');
  const reader = textsOf(await resume(chatId, responseId));
  const stored = await take(reader, 2);
  expect(stored).toEqual([first, ...(await take(texts, 1))]);
  service.run.killWorkers(functionIds['send-message']);
  await expect(allOf(texts)).rejects.toThrow();
  // With a web function, it was the function of the reader too.
  await reader.return(undefined).catch(() => undefined);
  const resumed = textsOf(await resume(chatId, responseId));
  expect(await take(resumed, 2)).toEqual(stored);
  const ahead = textsOf(await resume(chatId, responseId, 7));
  // Until the lease expires, the service cannot know that its owner is dead.
  expect(await send(client, tenant, chatId, 'too soon')).toMatchObject(rejectedWhileResponding);
  await table.endLease({ workspaceId: tenant.workspaceId, chatId });
  const error = { type: 'response.error', ...interrupted, response_id: responseId, chat_id: chatId };
  const [text = '', end] = await allOf(resumed);
  expect([eventOf(text), end]).toEqual([{ ...error, sequence_number: 2 }, endOfStream]);
  // This client had events that were not stored any more.
  const [other = ''] = await allOf(ahead);
  expect(eventOf(other)).toEqual({ ...error, sequence_number: 8 });

  expect((await send(client, tenant, chatId, 'go on')).body.data).toBe('Hello');
  const history = await historyOf(client, chatId);
  expect(contentsOf(history)).toEqual(['killed stream', 'One, ', 'go on', 'Hello']);
  expect(history[1]?.meta.error).toEqual(interrupted);
  expect(model.calls.at(-1)?.request.messages).toMatchObject([
    { role: 'user', content: 'killed stream' },
    { role: 'assistant', content: 'One, ' },
    { role: 'user', content: 'go on' },
  ]);
});

it('a stored stream whose first read fails has a status, and not a stream without events', async () => {
  const headers = { 'Idempotency-Key': crypto.randomUUID() };
  const { chatId, texts, responseId } = await start('unreadable', { headers });
  await allOf(texts);
  proxy.handle = async (call, pass) =>
    call.target === 'Query' && JSON.stringify(call.body).includes('#E#') ? rejection : pass();
  const body = { message: 'unreadable', agent_id: tenant.agentId, resumable: true };
  const failed = /^500\/10005 /;
  expect(summaryOf(await client.post(`/chats/${chatId}/messages`, body, { headers }))).toMatch(failed);
  expect(summaryOf(await client.get(pathOf(chatId, responseId)))).toMatch(failed);
});

it('costs two writes more for a short reply, and nothing for a reply that is not resumable', async () => {
  const { chatId, texts } = await start('warm');
  await allOf(texts);
  const writesOf = async (resumable: boolean) => {
    const writes: string[] = [];
    proxy.handle = (call, pass) => {
      // The usage may be written after the response.
      const isCounted = isReplier(call.functionName) && !JSON.stringify(call.body).includes('#USAGE');
      if (isCounted && /^(Put|Update|Transact)/.test(call.target)) writes.push(call.target);
      return pass();
    };
    const startedAt = performance.now();
    const body = { message: 'Short', agent_id: tenant.agentId, resumable };
    await allOf(await client.request('POST', `/chats/${chatId}/messages`, { body }));
    return { writes: writes.toSorted(), seconds: Math.floor((performance.now() - startedAt) / 1000) };
  };
  // The lease, the message, the reply, the release.
  const usual = ['PutItem', 'PutItem', 'UpdateItem', 'UpdateItem'];
  expect((await writesOf(false)).writes).toEqual(usual);
  const { writes, seconds } = await writesOf(true);
  expect(writes.filter((target) => target !== 'PutItem')).toEqual(['UpdateItem', 'UpdateItem']);
  expect(writes.length - usual.length).toBeLessThanOrEqual(2 + seconds);
});

it('a reply that the table will never take fails its request of a batch after one call of the model', async () => {
  proxy.handle = async (call, pass) =>
    call.target === 'PutItem' && JSON.stringify(call.body.Item).includes('M#0000002') ? rejection : pass();
  const calls = model.calls.length;
  const requests = [{ custom_id: 'one', message: 'Hi' }];
  const batch = await runBatch(client, tenant, requests);
  const [result] = await checkEnded(client, batch, requests);
  const reason = 'The reply could not be stored';
  expect(result).toMatchObject({ status: 'failed', error_code: 500, error_message: reason });
  expect(model.calls.length - calls).toBe(1);
  const history = await historyOf(client, result?.history_id ?? 0);
  expect(history[1]?.meta.error).toEqual({ code: 10005, message: reason });
});

it.each([
  ['the distribution', () => service.baseUrl],
  ['the gateway itself', () => `${service.run.endpoints.gateway}/v1`],
])(
  'an upload that the table does not take leaves nothing in the bucket, through %s',
  async (_door, addressOf) => {
    const own = await createTenant();
    let rejected = 0;
    proxy.handle = async ({ target }, pass) => {
      if (target !== 'PutItem') return pass();
      rejected += 1;
      return rejection;
    };
    const { status, body } = await uploaderOf({ baseUrl: addressOf() }, own).raw(
      form(filePart('a.txt', 'x')),
    );
    expect({ status, code: body.error_code, rejected }).toEqual({ status: 500, code: 10005, rejected: 1 });
    expect(await fileBucketOf(service).keysOf(own.workspaceId)).toEqual({ objects: [], uploads: [] });
  },
);

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

  it('with stream false gets the whole reply in the history', async () => {
    const chatId = await createChat(client, tenant);
    const message = 'leave before the answer';
    const called = callFor(message);
    const leaving = new AbortController();
    const body = { message, agent_id: tenant.agentId, stream: false };
    const path = `/chats/${chatId}/messages`;
    const responding = client.request('POST', path, { body, signal: leaving.signal });
    const call = await called;
    leaving.abort();
    await expect(responding).rejects.toThrow();
    replyWith(call, 'All of it');
    await wholeReply(chatId, message, 'All of it');
  });
});
