import { beforeAll, describe, expect, it } from 'vitest';
import type { UploadedFile } from '#contract/message.ts';
import { checkEnded, requestsOf, resultsOfBatch, runBatch } from '#support/batches.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { type ModelCall, replyWith, type ScriptedModel } from '#support/model-server.ts';
import { dataOf, openTenant } from '#support/open-tenant.ts';
import { openAiRequests } from '#support/openai-requests.ts';
import { png } from '#support/sample-files.ts';
import { startScriptedBedrock } from '#support/scripted-bedrock.ts';
import { contentsOf, createChat, historyOf, send, stepThrough } from '#support/turns.ts';
import { uploaderOf } from '#support/upload.ts';
import { modelsUsedIn } from '#support/usage-today.ts';
import { useScriptedService } from '#support/use-service.ts';
import { showProviderErrors } from '../../bin/local/show-provider-errors.ts';

const logged: string[] = [];
const bedrock = closeAfterTests(await startScriptedBedrock());
const { model, service, tenant, client } = await useScriptedService({
  variables: {
    // Longer than all waits between four calls together, which are at most 4.4 s.
    STREAM_TIMEOUT_SECONDS: '6',
    SHOW_PROVIDER_ERRORS: 'true',
    AWS_ENDPOINT_URL_BEDROCK_RUNTIME: bedrock.url,
  },
  maxConcurrency: 6,
  onLog: ({ line }) => logged.push(line),
});
const script = scriptByMessage(model);

const busy = { code: 10005, message: 'The model is busy: try again later' };
const unreachable = { code: 10005, message: 'The model cannot be reached: try again later' };
const rejected = { code: 10005, message: 'The model refused the request' };
const tooLong = { code: 10005, message: 'The message is too long for the model' };
const filtered = { code: 10005, message: 'The reply was cut by the content filter of the model' };
const empty = { code: 10005, message: 'The model gave an empty reply' };
const timedOut = { code: 10005, message: 'Stream timed out' };
const broken = { code: 10005, message: 'The model could not complete the reply' };

interface Failure {
  name: string;
  /** The chunks that the model sends before it fails. */
  says?: string[];
  fails: (call: ModelCall, attempt: number) => void;
  /** The number of calls of the model, by default one. */
  received?: number;
  /** How many of the calls the reply's usage counts, by default one. */
  counted?: 0;
  /** The reply's error; undefined if the reply `Here I am` is complete in the end. */
  error?: { code: number; message: string };
  /** The provider rejects the content: the next prompt is without this turn. */
  ofContent?: true;
}

const respond = (call: ModelCall): void => replyWith(call, 'Here I am');
const afterWords = { says: ['One, ', 'two'] };
const uncounted = { counted: 0 } as const;
const soon = { 'retry-after-ms': '5' };
/** `test/unit/retrying-model.test.ts` has what each provider says, and when a call is repeated. */
const failures: Failure[] = [
  {
    name: '500, then an answer',
    fails: (call, attempt) => (attempt === 1 ? call.fail(500, soon) : respond(call)),
    received: 2,
  },
  {
    name: '429 and nothing else',
    fails: (call) => call.fail(429, soon),
    error: busy,
    received: 4,
    ...uncounted,
  },
  {
    name: 'connections cut and nothing else',
    fails: (call) => call.reset(),
    ...{ error: unreachable, received: 4, ...uncounted },
  },
  { name: '400', fails: (call) => call.fail(400), error: rejected, ...uncounted, ofContent: true },
  { name: '413', fails: (call) => call.fail(413), error: tooLong, ...uncounted, ofContent: true },
  { name: '401', fails: (call) => call.fail(401), error: rejected, ...uncounted },
  {
    name: 'a refusal in the stream behind some words',
    fails: (call) => call.failInStream('invalid request'),
    ...{ error: rejected, ...afterWords, ofContent: true },
  },
  {
    name: 'a connection cut after some words',
    fails: (call) => call.reset(),
    ...{ error: unreachable, ...afterWords },
  },
  { name: 'an end without a word', fails: (call) => call.end(), error: broken, ...uncounted },
  { name: 'an empty answer', fails: (call) => call.finish(), error: empty },
  {
    name: 'a reply cut by a filter',
    fails: (call) => call.cut('content_filter'),
    ...{ error: filtered, says: ['One, '], ofContent: true },
  },
  { name: 'silence at once', fails: () => undefined, error: timedOut },
  { name: 'silence after some words', fails: () => undefined, error: timedOut, ...afterWords },
];

describe('a model', () => {
  it.concurrent.for(failures)('that answers with $name', async (failure, { expect }) => {
    const { name, says = [], fails, received = 1, counted = 1, error, ofContent = false } = failure;
    const text = error === undefined ? 'Here I am' : says.join('');
    const chatId = await createChat(client, tenant);
    const { promise: called, resolve } = Promise.withResolvers<ModelCall>();
    const calls = script(name, (call, attempt) => (says.length > 0 ? resolve(call) : fails(call, attempt)));
    const reader = stepThrough(await client.stream(chatId, { message: name, agent_id: tenant.agentId }));
    expect(await reader.next()).toMatchObject({ type: 'response.created', model: 'openai:test' });
    for (const chunk of says) {
      (await called).chunk(chunk);
      expect(await reader.next()).toMatchObject({ type: 'response.output_text.delta', delta: chunk });
    }
    if (says.length > 0) fails(await called, 1);
    const rest = await reader.rest();
    expect(rest).toMatchObject(
      error === undefined
        ? [
            { type: 'response.output_text.delta', delta: text },
            { type: 'response.output_text.completed', final_text: text },
            '[DONE]',
          ]
        : [{ type: 'response.error', ...error }, '[DONE]'],
    );
    expect(calls).toHaveLength(received);

    const history = await historyOf(client, chatId);
    expect(contentsOf(history)).toEqual([name, text]);
    expect(history[1]?.meta.error).toEqual(error);
    expect(history[1]?.meta.token_usage?.total_calls).toBe(counted);

    const after = `after ${name}`;
    const callsAfter = script(after, respond);
    expect(await send(client, tenant, chatId, after)).toMatchObject({
      status: 200,
      body: { data: 'Here I am', error_code: 0 },
    });
    expect(contentsOf(await historyOf(client, chatId))).toEqual([name, text, after, 'Here I am']);
    const last = { role: 'user', content: after };
    const withReply = [{ role: 'user', content: name }, { role: 'assistant', content: text }, last];
    // Some models reject two user messages in a row.
    const withoutReply = [{ role: 'user', content: `${name}\n\n${after}` }];
    expect(callsAfter[0]?.request.messages).toEqual(
      ofContent ? [last] : text === '' ? withoutReply : withReply,
    );
  });

  it('whose provider rejects a call: its text goes to the terminal once a minute and status, its type to the log', async () => {
    const shown: string[] = [];
    let now = 0;
    const end = showProviderErrors(
      (line) => shown.push(line),
      () => now,
    );
    const rejectWith = async (status: number, at: number): Promise<string | null> => {
      now = at;
      script('canary', (call) => call.fail(status, {}, `canary of ${at}`));
      const { headers } = await send(client, tenant, await createChat(client, tenant), 'canary');
      return headers.get('x-request-id');
    };
    const requestId = await rejectWith(401, 0);
    await rejectWith(401, 59_999);
    await rejectWith(403, 59_999);
    await rejectWith(401, 60_000);
    await expect.poll(() => shown.at(-1)).toContain('canary of 60000');
    end();
    expect(shown).toEqual([
      expect.stringMatching(/ status 401: .*canary of 0\b/),
      expect.stringMatching(/ status 403: .*canary of 59999\b/),
      expect.stringMatching(/ status 401: .*canary of 60000\b/),
    ]);
    const ofRequest = logged.filter((line) => line.includes(`"request_id":"${requestId}"`)).join();
    expect(ofRequest).toContain('status 401 (type scripted)');
    expect(logged.filter((line) => line.includes('canary'))).toEqual([]);
  });

  it('whose context window is full fails a request of a batch at once', async () => {
    const name = 'a request that never fits';
    const calls = script(name, (call) => call.fail(400, {}, 'Input is too long for requested model.'));
    const requests = [{ custom_id: 'one', message: name }];
    const batch = await runBatch(client, tenant, requests);
    expect(await checkEnded(client, batch, requests)).toMatchObject([
      { status: 'failed', error_code: 500, error_message: tooLong.message },
    ]);
    expect(calls).toHaveLength(1);
  });
});

describe('a chat whose model fails', async () => {
  const agent = { meta: { vision: true }, unified_tools: [{ type: 'consultant_lookup' }] };
  const tenant = await openTenant(service, { model: 'openai:test', titles: false, agent });
  const { client } = tenant;
  const upload = async (...[name, content, type]: [string, string | Buffer, string]) =>
    (dataOf(await uploaderOf(service, tenant).file(name, content, { type })) as UploadedFile).uuid;
  const files = {
    'a.txt': await upload('a.txt', 'The text of the file', 'text/plain'),
    'a.png': await upload('a.png', png, 'image/png'),
  };

  it('finds nothing with its tool of a turn that was rejected', async () => {
    const chatId = await createChat(client, tenant);
    const attached = { attached_file_uuids: [files['a.txt']] };
    script('a rejected text', (call) => call.fail(400));
    expect((await send(client, tenant, chatId, 'a rejected text', attached)).status).toBe(500);
    const calls = script('What text was there?', (call, attempt) => {
      if (attempt === 1) call.callTools({ name: 'consultant_lookup', arguments: { query: 'text' } });
      else call.chunk('None');
      call.finish();
    });
    expect(await send(client, tenant, chatId, 'What text was there?')).toMatchObject({
      body: { data: 'None' },
    });
    expect(calls[1]?.request.messages.at(-1)?.content).toContain('Nothing that was searched matches');
  });

  it.each([1, 2])('at %i images in a row takes the next message', async (count) => {
    const chatId = await createChat(client, tenant);
    const image = png.toString('base64');
    const rejectImages = (call: ModelCall) =>
      JSON.stringify(call.request.messages).includes(image) ? call.fail(400) : respond(call);
    const attached = { attached_file_uuids: [files['a.png']] };
    for (let turn = 1; turn <= count; turn += 1) {
      script(`image ${turn} of ${count}`, rejectImages);
      const { status } = await send(client, tenant, chatId, `image ${turn} of ${count}`, attached);
      expect(status).toBe(500);
    }
    for (const name of ['after', 'long after']) {
      const calls = script(`${name} ${count} images`, rejectImages);
      expect((await send(client, tenant, chatId, `${name} ${count} images`)).status).toBe(200);
      // An even number is tried once, and left out for good.
      expect(calls).toHaveLength(name === 'after' && count % 2 === 0 ? 2 : 1);
      expect(JSON.stringify(calls.at(-1)?.request.messages)).not.toContain('image 1');
    }
  });

  it('for a request of a batch takes the next one', async () => {
    const chatId = await createChat(client, tenant);
    const run = (message: string) =>
      runBatch(client, tenant, [{ custom_id: 'one', message, history_id: chatId }]);
    script('a rejected request', (call) => call.fail(422));
    const batch = await run('a rejected request');
    const linesOfBatch = logged.filter((line) => line.includes(`"batch_id":"${batch.id}"`));
    expect(linesOfBatch.join()).toContain('status 422 (type scripted)');
    const calls = script('the next request', respond);
    await run('the next request');
    expect(calls[0]?.request.messages).toEqual([{ role: 'user', content: 'the next request' }]);
    expect(contentsOf(await historyOf(client, chatId))[0]).toBe('a rejected request');
  });
});

it('leaves no message and no word of a provider in the logs', () => {
  expect(logged.some((line) => line.includes('A reply was not completed'))).toBe(true);
  const words = [...failures.map(({ name }) => name), 'Here I am', 'One, ', 'scripted 4', 'scripted 5'];
  // Short texts such as 400 are also parts of other texts.
  const revealing = words.filter((word) => word.length > 5);
  expect(logged.filter((line) => revealing.some((word) => line.includes(word)))).toEqual([]);
});

describe('a model that answers', () => {
  const meta = { reasoning_effort: 'high', service_tier: 'priority', batch_service_tier: 'flex' } as const;
  const cached = { promptTokens: 100, completionTokens: 2, cachedTokens: 64, writtenTokens: 0 };
  beforeAll(() => {
    const answer = (call: ModelCall) =>
      replyWith(call, 'Yes.', { prompt_tokens: 100, completion_tokens: 2, cached: 64 });
    for (const each of [model, bedrock]) Object.assign(each, { onCall: answer, onPlainCall: answer });
  });

  it("of OpenAI has the agent's effort and service tier, and a tier has its own usage", async () => {
    const tenant = await openTenant(service, { model: 'openai:test', titles: false, agent: { meta } });
    const chatId = await createChat(tenant.client, tenant);
    expect((await send(tenant.client, tenant, chatId, 'In a chat')).status).toBe(200);
    expect(model.calls.at(-1)?.body).toMatchObject({ reasoning_effort: 'high', service_tier: 'priority' });

    const [result] = await resultsOfBatch(tenant.client, tenant, requestsOf(1));
    expect(model.calls.at(-1)?.body).toMatchObject({ reasoning_effort: 'high', service_tier: 'flex' });
    expect(result?.response_usage).toMatchObject({
      cached_prompt_tokens: 64,
      main_response: { model: 'openai:test#flex', prompt_tokens: 100, cached_prompt_tokens: 64 },
    });
    await expect
      .poll(() => modelsUsedIn(tenant.workspaceId))
      .toEqual({
        'openai:test#priority': { calls: 1, ...cached },
        'openai:test#flex': { calls: 1, ...cached },
      });
  });

  it('of Bedrock is asked as its agent says, signed for the role, with its thoughts in the bound', async () => {
    const name = 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0';
    const tenant = await openTenant(service, {
      ...{ model: `bedrock:${name}`, titles: false },
      agent: { system_prompt: 'Be brief.', meta: { ...meta, max_output_tokens: 1000 } },
    });
    const chatId = await createChat(tenant.client, tenant);
    expect((await send(tenant.client, tenant, chatId, 'Think')).body.data).toBe('Yes.');
    const [call] = bedrock.calls;
    expect(call?.request).toMatchObject({
      model: name,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Think' },
      ],
    });
    expect(call?.body).toMatchObject({
      serviceTier: { type: 'priority' },
      additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 38_400 } },
      inferenceConfig: { maxTokens: 39_400 },
    });
    expect(call?.headers).toMatchObject({
      'x-amz-security-token': expect.any(String),
      authorization: expect.stringContaining('/bedrock/aws4_request'),
    });
  });

  it("has the door's effort in place of the agent's", async () => {
    const options = { model: 'openai:test', openai: true, agent: { meta } };
    const door = openAiRequests(service, await openTenant(service, options));
    const { usage } = await door.complete({ reasoning_effort: 'low' });
    expect(model.calls.at(-1)?.body).toMatchObject({ reasoning_effort: 'low', service_tier: 'priority' });
    expect(usage).toEqual({
      ...{ prompt_tokens: 100, completion_tokens: 2, total_tokens: 102 },
      prompt_tokens_details: { cached_tokens: 64 },
    });
    expect(await door.rejection({ reasoning_effort: 'much' })).toMatchObject({ param: 'reasoning_effort' });
  });

  it.each(['openai:test', 'bedrock:eu.amazon.nova-lite-v1:0'])('makes a title: %s', async (name) => {
    const { client, agentId, workspaceId } = await openTenant(service, { model: name });
    const chatId = await createChat(client, { agentId });
    const events = await (await client.stream(chatId, { message: 'Hello', agent_id: agentId })).all();
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'response.chat.title.updated', name: 'Yes.' }),
    );
    // The usage of the reply has no part of the title's call.
    const usage = expect.objectContaining({ total_tokens: 102, total_calls: 1 });
    expect(events).toContainEqual(expect.objectContaining({ final_text: 'Yes.', usage }));
    const both = { calls: 2, promptTokens: 200, completionTokens: 4, cachedTokens: 128, writtenTokens: 0 };
    await expect.poll(() => modelsUsedIn(workspaceId)).toEqual({ [name]: both });
  });
});

/** Scripts the model by message, so that several messages can be sent concurrently. */
function scriptByMessage(model: ScriptedModel) {
  type Script = (call: ModelCall, attempt: number) => void;
  const entries = new Map<string, { calls: ModelCall[]; script: Script }>();
  model.onCall = (call) => {
    // Files and a previous message without a reply are in the same content, before a blank line or in parts of their own.
    const content: unknown = call.request.messages.findLast(({ role }) => role === 'user')?.content;
    const text = Array.isArray(content) ? content.at(-1).text : content;
    const message = String(text).split('\n\n').at(-1) ?? '';
    const entry = entries.get(message);
    if (entry === undefined) throw new Error(`No script for the message ${message}`);
    entry.script(call, entry.calls.push(call));
  };
  return (message: string, script: Script): readonly ModelCall[] => {
    const calls: ModelCall[] = [];
    entries.set(message, { calls, script });
    return calls;
  };
}
