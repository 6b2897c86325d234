import OpenAI from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { openAiModel } from '#contract/openai.ts';
import { replyWith } from '#support/model-server.ts';
import { openTenant } from '#support/open-tenant.ts';
import { errorOf, openAiRequests } from '#support/openai-requests.ts';
import type { ModelCall } from '#support/scripted-model.ts';
import { type AgentFields, createPublishedAgent } from '#support/service.ts';
import { useScriptedService } from '#support/use-service.ts';

const { model, callFor, service, tenant } = await useScriptedService(undefined, {
  openai: true,
  agent: { name: 'Guide', description: 'Knows the way', system_prompt: 'You are a guide.' },
});
const openai = openAiRequests(service, tenant);
const usage = { prompt_tokens: 7, completion_tokens: 5 };

/** Responds to the call of a message. */
const responding = (message: string, respond: (call: ModelCall) => void) =>
  void callFor(message).then(respond);

describe('models', () => {
  it('are the published agents of the workspace, at both addresses', async () => {
    for (const path of ['/models', '/v1/models']) {
      const response = await openai.request('GET', path);
      const body = (await response.json()) as { object: string; data: unknown[] };
      expect(response.status).toBe(200);
      const guide = {
        ...{ id: tenant.agentId, object: 'model', created: expect.any(Number) },
        ...{ owned_by: tenant.workspaceId, name: 'Guide', description: 'Knows the way' },
      };
      expect(body).toEqual({ object: 'list', data: [guide] });
      openAiModel.strict().parse(body.data[0]);
      const [one] = body.data;
      expect(await (await openai.request('GET', `${path}/${tenant.agentId}`)).json()).toEqual(one);
    }
  });

  it('are not found under another id, another workspace or a name', async () => {
    const other = await openTenant(service, { openai: true });
    for (const id of [crypto.randomUUID(), other.agentId, 'Guide', '%22%7B%7D'])
      expect(await errorOf(await openai.request('GET', `/models/${id}`))).toMatchObject({
        status: 404,
        code: 'model_not_found',
        param: 'model',
        type: 'invalid_request_error',
        message: expect.stringContaining(decodeURIComponent(id).replaceAll('"', '\\"')),
      });
  });
});

describe('a reply', () => {
  it('comes whole', async () => {
    responding('Whole?', (call) => {
      call.chunk('Yes, ');
      replyWith(call, 'whole.', usage);
    });
    const before = Math.floor(Date.now() / 1000);
    const { id, created, ...completion } = await openai.complete({ message: 'Whole?' });
    expect(id).toMatch(/^chatcmpl-[0-9a-f]{32}$/);
    expect(created).toBeGreaterThanOrEqual(before);
    const message = { role: 'assistant', content: 'Yes, whole.', refusal: null };
    expect(completion).toEqual({
      ...{ object: 'chat.completion', model: tenant.agentId, system_fingerprint: 'v1' },
      choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
      usage: { ...usage, total_tokens: 12, prompt_tokens_details: { cached_tokens: 0 } },
    });
  });

  it('comes as a stream, with its usage if the request says so', async () => {
    for (const includesUsage of [true, false, undefined]) {
      const message = `Stream, usage ${includesUsage}?`;
      responding(message, (call) => {
        call.chunk('Yes, ');
        replyWith(call, 'in parts.', usage);
      });
      const { chunks, isDone, text, finishReasons } = await openai.stream({
        message,
        ...(includesUsage !== undefined && { stream_options: { include_usage: includesUsage } }),
      });
      expect([isDone, text, finishReasons]).toEqual([true, 'Yes, in parts.', ['stop']]);
      expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
      expect(chunks[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: '' });
      if (includesUsage !== true) {
        expect(chunks.every((chunk) => !('usage' in chunk))).toBe(true);
        continue;
      }
      expect(chunks.slice(0, -1).map((chunk) => chunk.usage)).toEqual(Array(chunks.length - 1).fill(null));
      expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { ...usage, total_tokens: 12 } });
    }
  });
});

describe('what the model gets', () => {
  async function requestOf(fields: Record<string, unknown>) {
    const message = `Asked ${crypto.randomUUID()}`;
    const called = callFor(message);
    const messages = (fields.messages as unknown[] | undefined) ?? [];
    const reply = openai.complete({ ...fields, messages: [...messages, { role: 'user', content: message }] });
    const call = await Promise.race([called, reply.then(() => undefined)]);
    if (call !== undefined) replyWith(call, 'Yes');
    await reply;
    return { body: call?.body as Record<string, unknown>, messages: call?.request.messages ?? [], message };
  }

  const agentWith = (meta: NonNullable<AgentFields['meta']>) =>
    createPublishedAgent(tenant.workspaceId, { llm_model: model.sharedName, meta });

  it('is the agent’s prompt and the messages in their order', async () => {
    const { messages, message } = await requestOf({
      messages: [
        { role: 'user', content: 'One' },
        { role: 'system', content: 'Be brief.' },
        { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
        { role: 'user', content: [{ type: 'text', text: 'Two', extra: 1 }], name: 'x' },
        { role: 'assistant', content: 'Three', refusal: null, tool_calls: null, audio: null },
        { role: 'assistant', content: null },
        { role: 'user', content: '' },
        { role: 'assistant', content: [{ type: 'refusal', refusal: 'Four' }] },
      ],
    });
    expect(messages).toEqual([
      {
        role: 'system',
        content: expect.stringMatching(/^You are a guide\.\n\n.*caller.*\n\["Be brief\.","Be kind\."\]$/),
      },
      { role: 'user', content: 'One\n\nTwo' },
      { role: 'assistant', content: 'Three\n\nFour' },
      { role: 'user', content: message },
    ]);
  });

  it('has the parameters that are passed on', async () => {
    const passedOn = { top_p: 0.5, presence_penalty: 1, frequency_penalty: -1, seed: 7 };
    const { body } = await requestOf({ ...passedOn, stop: 'END', max_tokens: 50, max_completion_tokens: 60 });
    expect(body).toMatchObject({ ...passedOn, stop: ['END'], max_tokens: 50 });
    const stop = ['A', 'B'];
    const stopped = await requestOf({ stop, max_completion_tokens: 60 });
    expect(stopped.body).toMatchObject({ stop, max_tokens: 60 });
    const most = await requestOf({ max_tokens: 1_000_000, temperature: 1 });
    expect(most.body).toMatchObject({ max_tokens: 8192 });
    expect(most.body).not.toHaveProperty('temperature');
  });

  it('has the temperature if the agent sets one', async () => {
    const model_ = await agentWith({ temperature: 0.2, max_output_tokens: 100 });
    const { body } = await requestOf({ model: model_, temperature: 1.5, max_tokens: 200 });
    expect(body).toMatchObject({ temperature: 1.5, max_tokens: 100 });
    expect((await requestOf({ model: model_ })).body).toMatchObject({ temperature: 0.2 });
  });

  it('has only the newest messages that the agent’s limit allows', async () => {
    const model_ = await agentWith({ max_history_characters: 10 });
    const previous = [
      { role: 'user', content: '12345' },
      { role: 'assistant', content: '1234567' },
      { role: 'user', content: 'abcd' },
      { role: 'assistant', content: 'efg' },
    ];
    const { messages, message } = await requestOf({ model: model_, messages: previous });
    expect(messages).toEqual([...previous.slice(2), { role: 'user', content: message }]);
  });
});

it('waits with its status for the first part of the model', async () => {
  responding('Early?', (call) => call.fail(400));
  const failed = await openai.rejection({ message: 'Early?', stream: true });
  expect(failed).toMatchObject({ status: 400, type: 'invalid_request_error' });
  expect(failed.headers.get('x-should-retry')).toBe('false');
});

it('says in the stream what fails later, and does not end it as a whole reply', async () => {
  responding('Late?', (call) => {
    call.chunk('Half');
    call.failInStream('server error');
  });
  const { text, errors, isDone } = await openai.stream({ message: 'Late?' });
  expect([text, isDone]).toEqual(['Half', false]);
  expect(errors).toEqual([
    {
      message: expect.stringMatching(/^The model cannot be reached: try again later, request id /),
      ...{ type: 'server_error', param: null, code: null },
    },
  ]);
});

describe('OpenAI’s client for Node.js, with a form', () => {
  let requests = 0;
  const { completions } = new OpenAI({
    apiKey: tenant.apiKey,
    baseURL: `${service.baseUrl}/openai`,
    fetch: (...given) => {
      requests += 1;
      return fetch(...given);
    },
  }).chat;
  const person = z.object({ name: z.string(), age: z.int() });
  const ann = '{"name": "Ann", "age": 7}';
  const formed = (content: string) => ({
    model: tenant.agentId,
    messages: [{ role: 'user' as const, content }],
    response_format: zodResponseFormat(person, 'person'),
  });
  const ways = {
    parse: (content: string) => completions.parse(formed(content)),
    stream: (content: string) => completions.stream(formed(content)).finalChatCompletion(),
  };
  const names = ['parse', 'stream'] as const;

  it.each(names)('returns an object of the schema from %s', async (name) => {
    responding('Who?', (call) => replyWith(call, ann));
    const { choices } = await ways[name]('Who?');
    expect(choices[0]?.message.parsed).toEqual({ name: 'Ann', age: 7 });
  });

  it.each(names)('sends one request of %s for a form that is never met', async (name) => {
    const before = { requests, calls: model.calls.length };
    model.onCall = (call) => replyWith(call, 'Ann is seven.');
    await expect(ways[name]('Never')).rejects.toMatchObject({ status: 400, code: 'invalid_reply' });
    expect([requests, model.calls.length]).toEqual([before.requests + 1, before.calls + 2]);
  });
});
