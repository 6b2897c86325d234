import { expect, it } from 'vitest';
import { endOfStream, eventOf } from '#contract/events.ts';
import type { ProxiedCall } from '#support/dynamo-proxy.ts';
import { functionIds, isReplier } from '#support/entry-points.ts';
import { replyWith } from '#support/model-server.ts';
import { summaryOf } from '#support/open-tenant.ts';
import { rejection, useProxiedService } from '#support/proxied-service.ts';
import { allOf, pathOf, streamsOf, take, textsOf } from '#support/resumable-streams.ts';
import { contentsOf, historyOf, interrupted, send } from '#support/turns.ts';

const { model, callFor, service, tenant, client, proxy, table } = await useProxiedService({
  // The leases are so long that only a test ends them.
  variables: { LEASE_SECONDS: '240', REPLY_BYTES: '6000000' },
  maxConcurrency: 3,
});
const { start, resume } = streamsOf({ client, tenant });

const isOfEvents = ({ target, body }: ProxiedCall): boolean =>
  target === 'PutItem' && JSON.stringify(body).includes('#E#');

/** Kills the function of a reply after a reader has had its first word. */
async function kill(message: string, headers: Record<string, string> = {}) {
  const called = callFor(message);
  const { chatId, texts, first, responseId } = await start(message, { headers });
  (await called).chunk('One, ');
  const reader = textsOf(await resume(chatId, responseId));
  const stored = await take(reader, 2);
  expect(stored).toEqual([first, ...(await take(texts, 1))]);
  service.run.killWorkers(functionIds['send-message']);
  await expect(allOf(texts)).rejects.toThrow();
  // With a web function, it was the function of the reader too.
  await reader.return(undefined).catch(() => undefined);
  return { chatId, responseId, stored };
}

it('a stream whose function has died ends with an error when its lease ends, and its text is in the history', async () => {
  const { chatId, responseId, stored } = await kill('killed');
  const resumed = textsOf(await resume(chatId, responseId));
  expect(await take(resumed, 2)).toEqual(stored);
  const ahead = textsOf(await resume(chatId, responseId, 7));
  await table.endLease({ workspaceId: tenant.workspaceId, chatId });
  const error = { type: 'response.error', ...interrupted, response_id: responseId, chat_id: chatId };
  const [text = '', end] = await allOf(resumed);
  expect([eventOf(text), end]).toEqual([{ ...error, sequence_number: 2 }, endOfStream]);
  // This client had events that were not stored any more.
  const [other = ''] = await allOf(ahead);
  expect(eventOf(other)).toEqual({ ...error, sequence_number: 8 });

  expect((await send(client, tenant, chatId, 'go on')).body.data).toBe('Hello');
  const history = await historyOf(client, chatId);
  expect(contentsOf(history)).toEqual(['killed', 'One, ', 'go on', 'Hello']);
  expect(history[1]?.meta.error).toEqual(interrupted);
  expect(model.calls.at(-1)?.request.messages).toMatchObject([
    { role: 'user', content: 'killed' },
    { role: 'assistant', content: 'One, ' },
    { role: 'user', content: 'go on' },
  ]);
});

it('a repeated send with a key makes the reply anew when its function has died', async () => {
  const headers = { 'Idempotency-Key': crypto.randomUUID() };
  const { chatId, responseId, stored } = await kill('again', headers);
  // Until the lease ends, it is the stream of the dead function.
  const repeated = await start('again', { chatId, headers });
  expect([repeated.first, ...(await take(repeated.texts, 1))]).toEqual(stored);
  await table.endLease({ workspaceId: tenant.workspaceId, chatId });
  expect(eventOf((await allOf(repeated.texts))[0] ?? '').type).toBe('response.error');
  const called = callFor('again');
  const anew = await start('again', { chatId, headers });
  const call = await called;
  replyWith(call, 'All of it');
  expect(anew.responseId).not.toBe(responseId);
  const whole = [anew.first, ...(await allOf(anew.texts))];
  expect(contentsOf(await historyOf(client, chatId))).toEqual(['again', 'All of it']);
  const third = await start('again', { chatId, headers });
  expect([third.first, ...(await allOf(third.texts))]).toEqual(whole);
});

it('a stream whose events the table rejects for a while is stored in the end, and its client sees nothing of it', async () => {
  let rejected = 0;
  proxy.handle = async (call, pass) => {
    if (!isOfEvents(call) || rejected === 2) return pass();
    rejected += 1;
    return rejection;
  };
  const called = callFor('rejected');
  const { chatId, texts, first, responseId } = await start('rejected');
  const call = await called;
  call.chunk('Hello');
  const sent = [first, ...(await take(texts, 1))];
  await expect.poll(() => rejected).toBe(2);
  call.finish();
  sent.push(...(await allOf(texts)));
  expect(await allOf(await resume(chatId, responseId))).toEqual(sent);
});

it('a stream whose events are never stored ends as any other', async () => {
  proxy.handle = async (call, pass) => (isOfEvents(call) ? rejection : pass());
  const { chatId, texts } = await start('never stored');
  expect((await allOf(texts)).at(-1)).toBe(endOfStream);
  expect(contentsOf(await historyOf(client, chatId))).toEqual(['never stored', 'Hello']);
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

it('[DONE] is sent when the last events are stored, and not before', async () => {
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  proxy.handle = async (call, pass) => {
    if (!isOfEvents(call) || !JSON.stringify(call.body).includes('"done"')) return pass();
    reached.resolve();
    await released.promise;
    return pass();
  };
  const { chatId, texts, first, responseId } = await start('held back');
  const sent = [first, ...(await take(texts, 2))];
  expect(eventOf(sent.at(-1) ?? '').type).toBe('response.output_text.completed');
  const end = texts.next();
  await reached.promise;
  expect(await Promise.race([end, new Promise((resolve) => setImmediate(resolve, 'nothing'))])).toBe(
    'nothing',
  );
  released.resolve();
  expect((await end).value).toBe(endOfStream);
  expect(await allOf(await resume(chatId, responseId))).toEqual([...sent, endOfStream]);
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

it('a slow reader gets every byte: a resumed stream waits for it, and the first one is resumed', async () => {
  const called = callFor('slow');
  const { chatId, texts, first, responseId } = await start('slow');
  const call = await called;
  const unread = await resume(chatId, responseId);
  // Each character has six bytes in JSON: 36 MB of deltas, and 36 MB in the last event. Sockets take 20 MB at most.
  const chunks = Array.from({ length: 6000 }, () => '\u0001'.repeat(1000));
  for (const chunk of chunks) call.chunk(chunk);
  call.finish();
  const whole = await allOf(await resume(chatId, responseId));
  expect(whole).toHaveLength(6003);
  expect(whole.at(-1)).toBe(endOfStream);
  const sent = [first, ...(await allOf(texts))];
  expect(sent.pop()).toBe(endOfStream);
  const end = eventOf(sent.pop() ?? '');
  expect(end).toMatchObject({ message: expect.stringMatching(/read too slowly/), type: 'response.error' });
  const after = await allOf(await resume(chatId, responseId, end.sequence_number));
  expect([...sent, ...after].join('') === whole.join('')).toBe(true);
  expect((await allOf(unread)).join('') === whole.join('')).toBe(true);
});
