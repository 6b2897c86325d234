import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { ModelCall } from '#support/scripted-model.ts';
import { contentsOf, createChat, historyOf, send, stepThrough } from '#support/turns.ts';
import { useScriptedService } from '#support/use-service.ts';

const logged: string[] = [];
const { callFor, tenant, client } = await useScriptedService({
  variables: { STREAM_TIMEOUT_SECONDS: '1' },
  maxConcurrency: 4,
  onLog: ({ line }) => logged.push(line),
});
// Loads the functions before tests with timeouts start.
await send(client, tenant, await createChat(client, tenant), 'warm');

const timedOut = { code: 10005, message: 'Stream timed out' };
const failed = { code: 10005, message: 'The model could not complete the reply' };
const rejected = { code: 10005, message: 'The model refused the request' };
const unreachable = { code: 10005, message: 'The model cannot be reached: try again later' };

/**
 * Sends a message to a new chat, and lets the model fail as the test scripts. It checks that the stream ends with one
 * response.error and `[DONE]`, that the history has the partial reply with the same error, and that the next turn sends
 * a valid history to the model.
 */
async function failReply(
  message: string,
  {
    says = [],
    fails,
    ofContent = false,
  }: { says?: string[]; fails: (call: ModelCall) => void; ofContent?: boolean },
  error: { code: number; message: string },
): Promise<void> {
  const chatId = await createChat(client, tenant);
  const called = callFor(message);
  const events = stepThrough(await client.stream(chatId, { message, agent_id: tenant.agentId }));
  expect(await events.next()).toMatchObject({ type: 'response.created' });
  const call = await called;
  for (const chunk of says) {
    call.chunk(chunk);
    expect(await events.next()).toMatchObject({ type: 'response.output_text.delta', delta: chunk });
  }
  fails(call);
  expect(await events.rest()).toEqual([
    {
      type: 'response.error',
      response_id: expect.any(String),
      chat_id: chatId,
      sequence_number: says.length + 1,
      ...error,
    },
    '[DONE]',
  ]);
  await call.gone;

  const history = await historyOf(client, chatId);
  expect(contentsOf(history)).toEqual([message, says.join('')]);
  expect(history[1]?.meta).toMatchObject({ error, reasoning_steps: [] });

  const next = callFor(`after: ${message}`);
  const responding = send(client, tenant, chatId, `after: ${message}`);
  const nextCall = await next;
  const last = { role: 'user', content: `after: ${message}` };
  const withReply = [{ role: 'user', content: message }, { role: 'assistant', content: says.join('') }, last];
  // Some models reject two user messages in a row.
  const withoutReply = [{ role: 'user', content: `${message}\n\nafter: ${message}` }];
  expect(nextCall.request.messages).toEqual(ofContent ? [last] : says.length > 0 ? withReply : withoutReply);
  nextCall.chunk('Better');
  nextCall.finish();
  expect(await responding).toMatchObject({ status: 200, body: { data: 'Better', error_code: 0 } });
  expect(contentsOf(await historyOf(client, chatId))).toEqual([
    message,
    says.join(''),
    `after: ${message}`,
    'Better',
  ]);
  expect(logged.length).toBeGreaterThan(0);
  expect(logged.filter((line) => line.includes(message))).toEqual([]);
  // Stack traces name the source files, not the bundle.
  expect(logged.some((line) => /at .*\(functions\/[\w/-]+\.ts:\d+:\d+\)/.test(line))).toBe(true);
  expect(logged.filter((line) => line.includes('index.mjs:'))).toEqual([]);
}

describe.concurrent('a model that stalls', () => {
  it('before its first word', () => failReply('stall at once', { fails: () => undefined }, timedOut));

  it('in the middle of its reply', () =>
    failReply('stall later', { says: ['One, ', 'two, '], fails: () => undefined }, timedOut));

  it('behind comments, which are no events', () =>
    failReply(
      'stall chatting',
      {
        says: ['One'],
        fails(call) {
          const chatter = setInterval(() => call.raw(': still here\n\n'), 100);
          void call.gone.then(() => clearInterval(chatter));
        },
      },
      timedOut,
    ));

  it('with stream false: 500, and what it said is kept', async () => {
    const chatId = await createChat(client, tenant);
    const called = callFor('stall plainly');
    const responding = send(client, tenant, chatId, 'stall plainly');
    const call = await called;
    call.chunk('Half a');
    const { status, headers, body } = await responding;
    expect(status).toBe(500);
    expect(body).toEqual({
      data: null,
      message: `Stream timed out, request id ${headers.get('x-request-id')}`,
      error_code: 10005,
    });
    await call.gone;
    const history = await historyOf(client, chatId);
    expect(contentsOf(history)).toEqual(['stall plainly', 'Half a']);
    expect(history[1]?.meta.error).toEqual(timedOut);
    expect((await send(client, tenant, chatId, 'again')).body.data).toBe('Hello');
  });

  it('does not stall as long as it reasons, or writes the arguments of a tool', async () => {
    const chatId = await createChat(client, tenant);
    const called = callFor('long thoughts');
    const responding = client.stream(chatId, { message: 'long thoughts', agent_id: tenant.agentId });
    const call = await called;
    const deltas = [
      { reasoning_content: 'hm ' },
      { reasoning: 'hm ' },
      { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm ' }] }] },
      { tool_calls: [{ index: 0, function: { arguments: ' ' } }] },
    ];
    // Together they take longer than the timeout of 1 s.
    for (let round = 0; round < 13; round += 1) {
      call.raw(`data: ${JSON.stringify({ choices: [{ delta: deltas[round % deltas.length] }] })}\n\n`);
      await sleep(100);
    }
    call.chunk('Done');
    call.finish();
    expect(await stepThrough(await responding).rest()).toMatchObject([
      { type: 'response.created' },
      { delta: 'Done' },
      { type: 'response.output_text.completed' },
      '[DONE]',
    ]);
    expect((await historyOf(client, chatId))[1]).toMatchObject({
      content: 'Done',
      meta: { reasoning_steps: [] },
    });
  });

  it('does not stall as long as each word comes in time', async () => {
    const chatId = await createChat(client, tenant);
    const called = callFor('slow but steady');
    const events = stepThrough(
      await client.stream(chatId, { message: 'slow but steady', agent_id: tenant.agentId }),
    );
    await events.next();
    const call = await called;
    // Together the deltas take longer than the timeout of 1 s.
    for (let word = 0; word < 13; word += 1) {
      call.chunk('on ');
      expect(await events.next()).toMatchObject({ delta: 'on ' });
      await sleep(100);
    }
    call.finish();
    expect(await events.rest()).toMatchObject([{ type: 'response.output_text.completed' }, '[DONE]']);
  });
});

describe.concurrent('a model that dies', () => {
  it('by a cut connection half way', () =>
    failReply('cut later', { says: ['One, ', 'two'], fails: (call) => call.reset() }, unreachable));

  it('by an end without a finish', () =>
    failReply('ends early', { says: ['One, ', 'two'], fails: (call) => call.end() }, failed));

  it('by an end without a word', () => failReply('ends empty', { fails: (call) => call.end() }, failed));

  it.each([400, 401, 403, 404, 422])('by HTTP %i', (status) =>
    failReply(
      `http ${status}`,
      { fails: (call) => call.fail(status), ofContent: status === 400 || status === 422 },
      rejected,
    ),
  );

  it('by its content filter', () =>
    failReply(
      'not to be said',
      { says: ['One, '], fails: (call) => call.cut('content_filter'), ofContent: true },
      { code: 10005, message: 'The reply was cut by the content filter of the model' },
    ));

  it('by garbage at once', () =>
    failReply(
      'garbage at once',
      {
        fails(call) {
          call.raw('<html>Bad gateway</html>\n\n');
          call.end();
        },
      },
      failed,
    ));

  it('by garbage half way', () =>
    failReply(
      'garbage later',
      {
        says: ['One'],
        fails(call) {
          call.raw('data: {"choices": [{]}\n\n');
          call.end();
        },
      },
      failed,
    ));

  it('by an error among its events', () =>
    failReply(
      'error event',
      {
        says: ['One'],
        fails(call) {
          call.raw('data: {"error": {"message": "overloaded", "type": "server_error"}}\n\n');
          call.end();
        },
      },
      unreachable,
    ));
});

describe('a model that refuses for the moment', () => {
  it.each([429, 500, 503])('is asked again after HTTP %i, and nothing shows of it', async (status) => {
    const chatId = await createChat(client, tenant);
    const message = `busy ${status}`;
    const first = callFor(message);
    const responding = send(client, tenant, chatId, message);
    const rejected = await first;
    const second = callFor(message);
    rejected.fail(status);
    const call = await second;
    call.chunk('Here I am');
    call.finish();
    expect(await responding).toMatchObject({ status: 200, body: { data: 'Here I am' } });
    expect(contentsOf(await historyOf(client, chatId))).toEqual([message, 'Here I am']);
  });
});
