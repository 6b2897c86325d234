import { afterEach, describe, expect, it } from 'vitest';
import { webFunctions } from '#support/entry-points.ts';
import { pngOf } from '#support/image-bytes.ts';
import type { ModelCall } from '#support/model-server.ts';
import { docx } from '#support/office-documents.ts';
import { openAiRequests } from '#support/openai-requests.ts';
import { gif, jpeg, png, webp } from '#support/sample-files.ts';
import { createPublishedAgent } from '#support/service.ts';
import { useScriptedService } from '#support/use-service.ts';

const { model, service, tenant } = await useScriptedService(undefined, {
  openai: true,
  agent: { meta: { vision: true } },
});
const openai = openAiRequests(service, tenant);

const rejected = (param: string, message: RegExp) => ({
  ...{ status: 400, type: 'invalid_request_error', code: null, param },
  message: expect.stringMatching(message),
});
const tool = { type: 'function', function: { name: 'weather', parameters: {} } };
const user = (content: unknown) => ({ role: 'user', content });
const text = (given: unknown) => ({ type: 'text', text: given });
const imageAt = (image_url: unknown) => ({ type: 'image_url', image_url });

describe('a parameter that would change the reply is rejected, with its name and the reason', () => {
  it.each([
    [{ tools: [tool] }, 'tools', /bring their own tools/],
    [{ functions: [{ name: 'weather' }] }, 'functions', /bring their own tools/],
    [{ n: 2 }, 'n', /must be 1/],
    [{ logprobs: true }, 'logprobs', /not supported/],
    [{ top_logprobs: 3 }, 'top_logprobs', /not supported/],
    [{ audio: { voice: 'alloy', format: 'mp3' } }, 'audio', /text/],
    [{ modalities: ['text', 'audio'] }, 'modalities', /text/],
    [{ response_format: 'text' }, 'response_format', /must be an object/],
    [{ logit_bias: { 50256: -100 } }, 'logit_bias', /not known/],
    [{ web_search_options: {} }, 'web_search_options', /search of its own/],
    [{ prediction: { type: 'content', content: 'x' } }, 'prediction', /no model/],
    [{ moderation: { model: 'x' } }, 'moderation', /not be checked/],
  ])('%j', async (fields, param, message) => {
    const calls = model.calls.length;
    for (const stream of [false, true])
      expect(await openai.rejection({ ...fields, stream })).toMatchObject(rejected(param, message));
    expect(model.calls).toHaveLength(calls);
  });
});

describe('a wrong value is rejected', () => {
  it.each([
    [{ model: 5 }, 'model'],
    [{ messages: [] }, 'messages'],
    [{ messages: [5] }, 'messages[0]'],
    [{ messages: [user(5)] }, 'messages[0].content'],
    [{ messages: [user([text('x'), text(5)])] }, 'messages[0].content[1].text'],
    [{ messages: [user([imageAt({ url: null })])] }, 'messages[0].content[0].image_url.url'],
    [{ stream: 'yes' }, 'stream'],
    [{ stream_options: { include_usage: 1 } }, 'stream_options.include_usage'],
    [{ temperature: 3 }, 'temperature'],
    [{ presence_penalty: 3 }, 'presence_penalty'],
    [{ seed: 1.5 }, 'seed'],
    [{ stop: ['1', '2', '3', '4', '5'] }, 'stop'],
    [{ max_tokens: 0 }, 'max_tokens'],
    [{ user: '' }, 'user'],
  ])('%j', async (fields, param) => {
    expect(await openai.rejection(fields)).toMatchObject(
      rejected(param, new RegExp(`^${param.replaceAll(/[[\].]/g, '\\$&')}`)),
    );
  });

  it.each([
    ['messages', (count: number) => Array(count).fill(5), 'messages[0]'],
    ['parts', (count: number) => [user([]), user(Array(count - 2).fill(5))], 'messages[1].content[0]'],
  ])('more than 10,000 %s, before each is an error', async (_what, messagesOf, param) => {
    expect(await openai.rejection({ messages: messagesOf(10_000) })).toMatchObject({ status: 400, param });
    const tooMany = rejected('messages', /^messages must have at most 10000 messages and parts together$/);
    expect(await openai.rejection({ messages: messagesOf(10_001) })).toMatchObject(tooMany);
    // The most that fit in a body would be errors of 2 GB.
    expect(await openai.rejection({ messages: messagesOf(2_900_000) })).toMatchObject({
      status: 400,
      message: expect.stringContaining('too many values: at most 60000 fields and elements together'),
    });
  });
});

it('a parameter without effect is accepted, and null is the same as absent', async () => {
  const completion = await openai.complete({
    ...{ metadata: { a: 'b' }, store: true, service_tier: 'auto', parallel_tool_calls: false },
    ...{ reasoning_effort: 'low', verbosity: 'low', safety_identifier: 'x', prompt_cache_key: 'y' },
    ...{ prompt_cache_retention: '24h', prompt_cache_options: {} },
    ...{ tools: [], functions: [], tool_choice: 'auto', function_call: 'auto', logprobs: false, n: 1 },
    ...{ response_format: { type: 'text' }, modalities: ['text'], logit_bias: {}, unknown_field: { a: 1 } },
    ...{ temperature: null, top_p: null, max_tokens: null, stop: null, seed: null, user: null, audio: null },
    ...{ stream: null, stream_options: null, presence_penalty: null, frequency_penalty: null },
  });
  expect(completion.choices[0]?.message.content).toBe('Hello');
  const { body } = model.calls.at(-1) ?? {};
  for (const name of ['metadata', 'store', 'reasoning_effort', 'service_tier', 'unknown_field', 'top_p'])
    expect(body).not.toHaveProperty(name);
});

describe('messages that agents cannot read are rejected', () => {
  it.each([
    [[user('x'), { role: 'tool', content: 'x', tool_call_id: '1' }], 'messages[1].role', /own tools/],
    [[{ role: 'assistant', tool_calls: [{ id: '1' }] }, user('x')], 'messages[0].tool_calls', /own tools/],
    [[{ role: 'assistant', function_call: { name: 'f' } }, user('x')], 'messages[0].function_call', /own/],
    [[{ role: 'assistant', audio: { id: '1' } }, user('x')], 'messages[0].audio', /text/],
    [[{ role: 'critic', content: 'x' }], 'messages[0].role', /one of system, developer, user, assistant/],
    [[user('x'), { role: 'assistant', content: 'y' }], 'messages', /must end with .* user/],
    [[user('x'), { role: 'assistant', content: null }], 'messages', /must end with .* user/],
    [[{ role: 'system', content: 'x' }], 'messages', /must end with .* user/],
    [[user('')], 'messages[0].content', /not be empty/],
    [[user([])], 'messages[0].content', /not be empty/],
    [[user('\ud800')], 'messages[0].content', /valid Unicode/],
    [[user([{ type: 'file', file: { file_id: 'x' } }])], 'messages[0].content[0].type', /upload it/],
    [[{ role: 'system', content: [imageAt(undefined)] }, user('x')], 'messages[0].content[0].type', /text/],
    [[user('x'.repeat(256 * 1024 + 1))], 'messages[0].content', /262144 bytes/],
    [[{ role: 'system', content: '😀'.repeat(65_537) }, user('x')], 'messages', /262144 bytes/],
  ])('%.200j', async (messages, param, message) => {
    expect(await openai.rejection({ messages })).toMatchObject(rejected(param, message));
  });
});

describe('an image', () => {
  const urlOf = (type: string, bytes: Buffer) => `data:${type};base64,${bytes.toString('base64')}`;
  const image = (url: unknown) => imageAt({ url, detail: 'high' });
  /** A PNG with this size in its header. */
  const claiming = (width: number, height: number) =>
    urlOf(
      'image/png',
      pngOf({ width: 1, height: 1 }, () => undefined, { width, height }),
    );
  const larger = Buffer.concat([png, Buffer.alloc(3.75 * 1024 * 1024)]);
  const contentOf = (index: number): unknown => model.calls.at(-1)?.request.messages[index]?.content;

  it.each([
    ['image/png', png],
    ['image/jpeg', jpeg],
    ['image/jpg', jpeg],
    ['image/gif', gif],
    ['image/webp', webp],
    ['IMAGE/PNG', png],
  ])('of the type %s reaches the model with the same bytes, in its place', async (type, bytes) => {
    const content = [text('Before'), image(urlOf(type, bytes)), text('After')];
    await openai.complete({ messages: [user(content)] });
    const given = type.toLowerCase() === 'image/jpg' ? 'image/jpeg' : type.toLowerCase();
    expect(contentOf(0)).toEqual([text('Before'), imageAt({ url: urlOf(given, bytes) }), text('After')]);
  });

  it('needs no text, and the model gets the newest ten', async () => {
    const one = image(urlOf('image/png', png));
    await openai.complete({
      messages: [user([one, one, text('Two')]), user(Array(10).fill(one))],
    });
    const parts = contentOf(0) as { type: string; text?: string }[];
    expect(parts.filter(({ type }) => type === 'image_url')).toHaveLength(10);
    expect(parts[0]?.text).toBe(`${'[An image was sent here, and is not shown again.]\n\n'.repeat(2)}Two`);
  });

  it('is named to a model that cannot see', async () => {
    const blind = await createPublishedAgent(tenant.workspaceId, {
      llm_model: model.sharedName,
      meta: { vision: false },
    });
    await openai.complete({
      model: blind,
      messages: [user([image(urlOf('image/png', png)), text('What is it?')])],
    });
    expect(JSON.stringify(contentOf(0))).toContain('this model cannot see images');
  });

  it.each([
    ['an address', 'https://example.com/a.png', /no address is fetched/],
    ['plain text', 'data:image/png,abc', /data: URL/],
    ['millions of parameters', `data:image/png${';'.repeat(5_900_000)}`, /data: URL/],
    ['what is no base64', 'data:image/png;base64,a b', /data: URL/],
    ['another type', urlOf('image/bmp', png), /one of the types/],
    ['bytes of another type', urlOf('image/jpeg', png), /does not contain an image of the type image\/jpeg/],
    ['bytes of no image', urlOf('image/png', docx('x')), /does not contain an image/],
    ['no pixels', claiming(0, 0), /does not contain an image/],
    ['too many pixels', claiming(8001, 1), /8001 by 1 pixels: models take at most/],
    // It is not decoded.
    ['the size of a bomb in its header', claiming(65_535, 65_535), /65535 by 65535 pixels/],
    ['too many bytes', urlOf('image/png', larger), /bytes and/],
  ])('with %s is rejected', async (_what, url, message) => {
    expect(await openai.rejection({ messages: [user([image(url)])] })).toMatchObject(
      rejected('messages[0].content[0].image_url.url', message),
    );
  });

  it('and others of more than 4.5 MB in all are too much for one request', async () => {
    const large = image(urlOf('image/png', Buffer.concat([png, Buffer.alloc(2.4 * 1024 * 1024)])));
    const response = await openai.send({ messages: [user([large, large])] });
    const body = await response.json();
    // Without a web function, the gateway itself rejects what is too long for a function.
    expect([response.status, body]).toMatchObject(
      webFunctions === 'all'
        ? [413, { error: { message: expect.stringContaining('about 4.5 MB of images') } }]
        : [400, { message: expect.stringContaining('too large'), error_code: 10006 }],
    );
  });
});

describe('an agent with tools', () => {
  const { onCall } = model;
  afterEach(() => void Object.assign(model, { onCall }));

  it('tells its steps, whole and streamed, and is offered no tool that needs a chat', async () => {
    const helper = await createPublishedAgent(tenant.workspaceId, { name: 'Helper', llm_model: 'demo' });
    const agent = await createPublishedAgent(tenant.workspaceId, {
      llm_model: model.sharedName,
      unified_tools: [
        { type: 'consultant_call_agent', name: 'helper', config: { agent_id: helper } },
        { type: 'consultant_lookup' },
        { type: 'consultant_request_form' },
      ],
    });
    const offered: unknown[] = [];
    model.onCall = (call) => {
      offered.push(call.request.tools?.map((one) => one.function.name));
      const last = call.request.messages.at(-1);
      if (last?.role === 'user') call.callTools({ name: 'helper', arguments: { message: 'Help' } });
      else call.chunk('Done');
      call.finish();
    };
    const step = {
      type: 'consultant_call_agent',
      content: 'Asking another agent',
      args: { agent_id: helper, message: 'Help' },
    };
    const whole = await openai.complete({ model: agent });
    expect(whole.agent_steps).toMatchObject([{ ...step, result: { success: true } }]);
    expect(whole.choices[0]?.message).toMatchObject({
      content: 'Done',
      reasoning_content: 'Asking another agent\n',
    });
    const { chunks, text, isDone } = await openai.stream({ model: agent });
    expect([text, isDone]).toEqual(['Done', true]);
    const steps = chunks.filter(({ agent_steps }) => agent_steps !== undefined);
    expect(steps.map(({ agent_steps }) => agent_steps)).toMatchObject([
      [{ ...step, result: null, ended_at: null }],
      [{ ...step, result: { success: true }, ended_at: expect.any(String) }],
    ]);
    expect(steps.map(({ choices: [choice] }) => choice?.delta)).toEqual([{ content: '' }, { content: '' }]);
    expect(chunks.map(({ choices: [choice] }) => choice?.delta.reasoning_content ?? '').join('')).toBe(
      'Asking another agent\n',
    );
    expect(offered).toEqual(Array(4).fill(['helper']));
  });

  it('ends with length when a call of a tool was cut, but not of a called agent', async () => {
    const agent = await createPublishedAgent(tenant.workspaceId, {
      llm_model: model.sharedName,
      use_search: false,
      unified_tools: [
        { type: 'consultant_call_agent', name: 'helper', config: { agent_id: tenant.agentId } },
      ],
    });
    // First a call of the called agent is cut, then one of the reply itself.
    const responses: ((call: ModelCall) => void)[] = [
      (call) => call.callTools({ name: 'helper', arguments: { message: 'Help' } }),
      (call) => call.callTools({ name: 'unknown', arguments: '{"a": "b' }),
      (call) => call.chunk('Done'),
      (call) => call.callTools({ name: 'helper', arguments: '{"message": "He' }),
    ];
    const calls: ModelCall[] = [];
    model.onCall = (call) => {
      responses[calls.push(call) - 1]?.(call);
      if (calls.length % 2 === 0) call.cut('length');
      else call.finish();
    };
    expect((await openai.complete({ model: agent })).choices[0]?.finish_reason).toBe('length');
    expect(calls).toHaveLength(4);
    expect(calls[3]?.request.messages.at(-1)?.content).toContain('"reply":"Done"');
  });
});
