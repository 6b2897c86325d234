import { describe, expect, it } from 'vitest';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { endOfStream, eventOf } from '#contract/events.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { dataTableOf } from '#support/data-table.ts';
import { replyWith } from '#support/model-server.ts';
import { openTenant, summaryOf } from '#support/open-tenant.ts';
import { allOf, pathOf, streamsOf, take, textsOf } from '#support/resumable-streams.ts';
import { contentsOf, createChat, historyOf, send } from '#support/turns.ts';
import { useScriptedService } from '#support/use-service.ts';

const { model, callFor, service, tenant, client } = await useScriptedService();
const table = closeAfterTests(dataTableOf(service));
const { start, resume } = streamsOf({ client, tenant });

const noStream = '404/10003 No stream to resume: send with "resumable": true';

describe('a stream that breaks', () => {
  it('is followed live: a word is sent on while the model still speaks', async () => {
    const called = callFor('live');
    const { chatId, texts, first, responseId } = await start('live');
    const call = await called;
    await texts.return(undefined);
    const resumed = textsOf(await resume(chatId, responseId));
    expect(await take(resumed, 1)).toEqual([first]);
    for (const word of ['one ', 'two ', 'three']) {
      call.chunk(word);
      const [text = ''] = await take(resumed, 1);
      expect(eventOf(text)).toMatchObject({ type: 'response.output_text.delta', delta: word });
    }
    call.finish();
    const [completed = '', last] = await allOf(resumed);
    expect(eventOf(completed)).toMatchObject({ final_text: 'one two three', sequence_number: 4 });
    expect(last).toBe(endOfStream);
    expect(contentsOf(await historyOf(client, chatId))).toEqual(['live', 'one two three']);
  });
});

describe('a resumable send with a key', () => {
  const keyed = () => ({ headers: { 'Idempotency-Key': crypto.randomUUID() } });
  const isReplayed = ({ headers }: Response) => headers.get('idempotency-replayed') === 'true';

  it('that is repeated gets the stream from its beginning, live and after its end', async () => {
    const key = keyed();
    const called = callFor('once');
    const { chatId, response, texts, first, responseId } = await start('once', key);
    expect(isReplayed(response)).toBe(false);
    await texts.return(undefined);
    const repeated = await start('once', { chatId, ...key });
    expect(repeated).toMatchObject({ first, responseId });
    expect(isReplayed(repeated.response)).toBe(true);
    const call = await called;
    call.chunk('Only ');
    replyWith(call, 'once');
    const whole = [repeated.first, ...(await allOf(repeated.texts))];
    expect(eventOf(whole.at(-2) ?? '')).toMatchObject({ final_text: 'Only once' });
    const again = await start('once', { chatId, ...key });
    expect([again.first, ...(await allOf(again.texts))]).toEqual(whole);
    expect(await allOf(await resume(chatId, responseId))).toEqual(whole);
    expect(await allOf(await resume(chatId, responseId, 1))).toEqual(whole.slice(2));
    expect(contentsOf(await historyOf(client, chatId))).toEqual(['once', 'Only once']);
    const calls = model.calls.filter(({ request }) => JSON.stringify(request.messages).includes('"once"'));
    expect(calls).toHaveLength(1);
  });

  it('gets the stored reply as one delta when its events have expired', async () => {
    const key = keyed();
    const { chatId, texts, first, responseId } = await start('expire', key);
    const sent = [first, ...(await allOf(texts))];
    const item = keys.replyEvents(tenant.workspaceId, chatId, responseId, 0, 0);
    expect(Math.abs(Number((await table.read(item))?.ttl) - Date.now() / 1000 - 3600)).toBeLessThan(60);
    await table.change(item, { ttl: Math.floor(Date.now() / 1000) });
    expect(summaryOf(await client.get(pathOf(chatId, responseId)))).toBe(noStream);
    const repeated = await start('expire', { chatId, ...key });
    const events = [repeated.first, ...(await allOf(repeated.texts)).slice(0, -1)].map(eventOf);
    expect(events[0]).toEqual(eventOf(first));
    expect(events).toMatchObject([
      { type: 'response.created', sequence_number: 0 },
      { type: 'response.output_text.delta', delta: 'Hello', sequence_number: 1 },
      { type: 'response.output_text.completed', final_text: 'Hello', sequence_number: 2 },
    ]);
    expect(eventOf(sent.at(-2) ?? '')).toEqual(events[2]);
  });
});

it('a resumed stream counts as a read', async () => {
  const limited = await openTenant(service, { model: model.sharedName, limits: { reads: '1/h' } });
  const own = streamsOf({ client: limited.client, tenant: limited });
  const { chatId, texts, responseId } = await own.start('count');
  await allOf(texts);
  await allOf(await own.resume(chatId, responseId));
  expect(summaryOf(await limited.client.get(pathOf(chatId, responseId)))).toMatch(/^429/);
});

describe('a stream is not resumed', () => {
  it('that was not sent as resumable, that is unknown, or of another chat or workspace', async () => {
    const chatId = await createChat(client, tenant);
    const called = callFor('plain');
    const stream = await client.stream(chatId, { message: 'plain', agent_id: tenant.agentId });
    const events = stream[Symbol.asyncIterator]();
    const { value: created } = await events.next();
    const plainId = typeof created === 'object' ? created.response_id : '';
    // Also not while it runs.
    expect(summaryOf(await client.get(pathOf(chatId, plainId)))).toBe(noStream);
    (await called).finish();
    await events.return?.();

    const { responseId, texts, chatId: other } = await start('mine');
    await allOf(texts);
    for (const id of ['x', 'resp_r-', `${responseId}x`, 'x'.repeat(256), `resp_r-${crypto.randomUUID()}`])
      expect(summaryOf(await client.get(pathOf(other, id)))).toBe(noStream);
    expect(summaryOf(await client.get(pathOf(await createChat(client, tenant), responseId)))).toBe(noStream);
    expect(summaryOf(await client.get(pathOf(999_999, responseId)))).toBe('404/10003 Chat not found');
    const stranger = await openTenant(service);
    const theirs = await stranger.createChat();
    expect(summaryOf(await stranger.client.get(pathOf(theirs.id, responseId)))).toBe(noStream);
  });

  it('if it is no stream', async () => {
    const chatId = await createChat(client, tenant);
    expect(summaryOf(await send(client, tenant, chatId, 'Hi', { resumable: true }))).toBe(
      '400/10006 resumable must be false with "stream": false: only a stream can be resumed',
    );
    for (const resumable of [false, null])
      expect((await send(client, tenant, chatId, 'Hi', { resumable })).status).toBe(200);
    expect(summaryOf(await send(client, tenant, chatId, 'Hi', { resumable: 1, stream: true }))).toBe(
      '400/10006 resumable must be true or false',
    );
  });
});
