import { afterEach, describe, expect, it } from 'vitest';
import { readModelResponse } from '#agents/model-response.ts';
import { readCompletion } from '#agents/models/completions/read-completion.ts';
import { openai } from '#agents/models/openai.ts';
import { retryingModel } from '#agents/retrying-model.ts';
import { clock } from '#runtime/environment/invocation-context.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { freeRetries } from '#support/free-retries.ts';
import { type ModelCall, startScriptedModel } from '#support/scripted-model.ts';

const server = closeAfterTests(await startScriptedModel());
const { onCall: sayHello, onPlainCall } = server;
afterEach(() => void Object.assign(server, { onCall: sayHello, onPlainCall }));

const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hi' }] }];
const modelNamed = (name: string) =>
  openai({ baseUrl: () => server.url, apiKey: async () => 'key', onSkipped: () => undefined }).model(name);

async function bodyFor(name: string): Promise<unknown> {
  const { stream } = await modelNamed(name).doStream({ prompt, maxOutputTokens: 100 });
  await Array.fromAsync(stream);
  return server.calls.at(-1)?.request;
}

it.each([
  // Those refuse max_tokens, and the servers of these may know nothing else.
  ...['gpt-5-mini', 'gpt-5', 'o3', 'o4-mini'].map((name) => [name, 'max_completion_tokens'] as const),
  ...['gpt-4o', 'llama3.3', 'openhermes'].map((name) => [name, 'max_tokens'] as const),
])('bounds the tokens of %s by %s alone', async (name, field) => {
  const body = Object.entries((await bodyFor(name)) as object);
  expect(body.filter(([key]) => key.startsWith('max_'))).toEqual([[field, 100]]);
  expect(body).toContainEqual(['model', name]);
});

describe('the content of a message', () => {
  const texts = ['<file>One</file>', 'Two', 'Three'].map((text) => ({ type: 'text' as const, text }));
  const image = {
    ...{ type: 'file' as const, mediaType: 'image/png' },
    data: { type: 'data' as const, data: new Uint8Array([1, 2, 3]) },
  };
  const contentsOf = async (...content: ((typeof texts)[number] | typeof image)[]) => {
    const { stream } = await modelNamed('scripted').doStream({
      prompt: [
        { role: 'system', content: 'Be brief' },
        { role: 'user', content },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'Let me see' },
            { type: 'tool-call', toolCallId: 't', toolName: 'one', input: {} },
          ],
        },
        {
          role: 'tool',
          content: [
            { type: 'tool-result', toolCallId: 't', toolName: 'one', output: { type: 'json', value: [1] } },
          ],
        },
        { role: 'user', content },
      ],
    });
    await Array.fromAsync(stream);
    return server.calls.at(-1)?.request.messages.map((message) => message.content);
  };

  it('without an image is one string', async () => {
    const text = '<file>One</file>\n\nTwo\n\nThree';
    expect(await contentsOf(...texts)).toEqual(['Be brief', text, 'Let me see', '[1]', text]);
  });

  it('with an image has parts', async () => {
    const url = { url: 'data:image/png;base64,AQID' };
    const parts = [
      { type: 'text', text: '<file>One</file>\n\nTwo\n\nThree' },
      { type: 'image_url', image_url: url },
      { type: 'text', text: '<file>One</file>' },
    ];
    const found = await contentsOf(...texts, image, texts[0] as (typeof texts)[0]);
    expect(found).toEqual(['Be brief', parts, 'Let me see', '[1]', parts]);
  });
});

/** A value of an event; text is sent as it is. */
const lineOf = (value: unknown): string =>
  `data: ${typeof value === 'string' ? value : JSON.stringify(value)}`;
const events = (...values: unknown[]): string => values.map((value) => `${lineOf(value)}\n\n`).join('');

describe('an answer', () => {
  const responseOf = async (script: (call: ModelCall) => void) => {
    server.onCall = script;
    const { stream } = await modelNamed('scripted').doStream({ prompt });
    return Array.fromAsync(stream);
  };

  const hello = lineOf({ choices: [{ delta: { content: 'Hé' } }] });
  const world = lineOf({ choices: [{ delta: { content: '👋' }, finish_reason: 'stop' }] });
  const object = JSON.stringify({ choices: [{ message: { content: 'Hé👋' }, finish_reason: 'stop' }] });

  it.each([
    ['LF', `${hello}\n\n${world}\n\ndata: [DONE]\n\n`],
    ['CRLF', `${hello}\r\n\r\n${world}\r\n\r\ndata: [DONE]\r\n\r\n`],
    ['a byte order mark', `\uFEFF${hello}\n\n${world}\n\n`],
    ['a last event without its empty line', `${hello}\n\n${world}`],
    ['one object', object],
    ['one object after blanks and a mark', `\uFEFF\n\n  ${object}\n`],
  ])('may have %s, and be split anywhere', async (_, text) => {
    const bytes = Array.from(Buffer.from(text), (byte) => Uint8Array.of(byte));
    const parts = await Array.fromAsync(readCompletion(ReadableStream.from(bytes), () => undefined));
    expect(parts.flatMap((part) => (part.type === 'text-delta' ? [part.delta] : [])).join('')).toBe('Hé👋');
    expect(parts.at(-1)).toMatchObject({ finishReason: { raw: 'stop' } });
  });

  it.each([
    ['an event', `data: ${'a'.repeat(17 * 1024 * 1024)}`],
    ['an object', `{"a": "${'a'.repeat(17 * 1024 * 1024)}`],
  ])('may not have %s of more than 16 MB', async (_, text) => {
    const parts = await responseOf((call) => call.raw(text));
    expect(parts).toMatchObject([{ type: 'error', error: { message: expect.stringContaining('too long') } }]);
  });

  type Delta = { index?: number; id?: string | null; function?: { name?: string; arguments?: unknown } };
  const callsOf = async (deltas: Delta[], form: 'events' | 'object', reason = 'tool_calls') => {
    const parts = await responseOf((call) => {
      if (form === 'object')
        call.raw(JSON.stringify({ choices: [{ message: { tool_calls: deltas }, finish_reason: reason }] }));
      else for (const delta of deltas) call.raw(events({ choices: [{ delta: { tool_calls: [delta] } }] }));
      if (form === 'events') call.raw(events({ choices: [{ delta: {}, finish_reason: reason }] }));
      call.end();
    });
    const calls = parts.filter((part) => part.type === 'tool-call');
    expect(new Set(calls.map(({ toolCallId }) => toolCallId)).size).toBe(calls.length);
    expect(calls.every(({ toolCallId }) => toolCallId !== '')).toBe(true);
    return calls.map(({ toolName, input }) => [toolName, input]);
  };
  const delta = (name: string | undefined, value: unknown, index?: number, id?: string | null): Delta => ({
    ...(index !== undefined && { index }),
    ...(id !== undefined && { id }),
    function: { ...(name !== undefined && { name }), arguments: value },
  });
  const a1 = ['a', '{"x":1}'];
  const b2 = ['b', '{"x":2}'];

  it.each<[string, Delta[], string[][]]>([
    ['as an object', [delta('a', { x: 1 }, 0, '1')], [a1]],
    ['as null', [delta('a', null, 0, '1')], [['a', '']]],
    ['that are absent', [{ index: 0, id: '1', function: { name: 'a' } }], [['a', '']]],
    ['without an id', [delta('a', '{"x":1}', 0)], [a1]],
    ['with an id that is null', [delta('a', '{"x":1}', 0, null)], [a1]],
    [
      'without an index',
      [delta('a', '{"x":1}', undefined, '1'), delta('b', '{"x":2}', undefined, '2')],
      [a1, b2],
    ],
    ['without an index or id', [delta('a', '{"x":1}'), delta('b', '{"x":2}')], [a1, b2]],
    ['twice the same call', [delta('a', '{"x":1}'), delta('a', '{"x":1}')], [a1, a1]],
    ['all with index 0', [delta('a', '{"x":1}', 0, '1'), delta('b', '{"x":2}', 0, '2')], [a1, b2]],
    [
      'of tools without parameters, all with index 0',
      [delta('a', '', 0, '1'), delta('a', '', 0, '2')],
      [
        ['a', ''],
        ['a', ''],
      ],
    ],
    ['without a name', [delta(undefined, '{}', 0, '1')], []],
  ])('may have tool calls %s, in events and in one object', async (_, deltas, calls) => {
    expect(await callsOf(deltas, 'events')).toEqual(calls);
    expect(await callsOf(deltas, 'object')).toEqual(calls);
    expect(await callsOf(deltas, 'object', 'stop')).toEqual(calls);
  });

  it.each<[string, Delta[]]>([
    ['each with the name', [delta('a', '{"x"', 0, '1'), delta('a', ':1', 0, '1'), delta('a', '}', 0, '1')]],
    ['each with the name, the last one empty', [delta('a', '{"x":1}', 0, '1'), delta('a', '', 0, '1')]],
    ['each with another id', [delta('a', '{"x"', 0, '1'), delta(undefined, ':1}', 0, '2')]],
    ['without an index', [delta('a', '{"x"', undefined, '1'), delta(undefined, ':1}')]],
    ['with an id alone', [delta('a', '', undefined, '1'), delta(undefined, '{"x":1}', undefined, '1')]],
    ['with the name after the arguments', [delta(undefined, '{"x"', 0, '1'), delta('a', ':1}', 0)]],
    ['after an empty one with the name', [delta('a', '', 0, '1'), delta('a', '{"x":1}', 0, '1')]],
  ])('may have one tool call in deltas %s', async (_, deltas) => {
    expect(await callsOf(deltas, 'events')).toEqual([a1]);
  });

  it.each(['reasoning_content', 'reasoning'])('gets its %s back with a tool call, by name', async (field) => {
    const parts = await responseOf((call) => {
      const extra_content = { google: { thought_signature: 's' } };
      call.raw(events({ choices: [{ delta: { [field]: 'Hm. ' } }] }));
      call.raw(events({ choices: [{ delta: { [field]: 'Yes.' } }] }));
      const tool_calls = [{ ...delta('a', '{"x":1}', 0, '1'), extra_content }];
      call.raw(events({ choices: [{ delta: { tool_calls }, finish_reason: 'tool_calls' }] }));
      call.end();
    });
    const { content } = await readModelResponse(
      ReadableStream.from(parts),
      { text: 100, other: 100 },
      { text: () => undefined, progress: () => undefined, toolCall: () => ({ x: 1 }) },
    );
    server.onCall = sayHello;
    const { stream } = await modelNamed('scripted').doStream({ prompt: [{ role: 'assistant', content }] });
    await Array.fromAsync(stream);
    expect(server.calls.at(-1)?.body).toMatchObject({
      messages: [
        {
          ...{ role: 'assistant', content: null, [field]: 'Hm. Yes.' },
          tool_calls: [
            {
              ...{ id: '1', type: 'function', function: { name: 'a', arguments: '{"x":1}' } },
              extra_content: { google: { thought_signature: 's' } },
            },
          ],
        },
      ],
    });
  });

  it('may have 128 tool calls, and not one more', async () => {
    const deltas = Array.from({ length: 129 }, (_, index) => delta('a', '{}', index, String(index)));
    expect(await callsOf(deltas.slice(1), 'events')).toHaveLength(128);
    const parts = await responseOf((call) => {
      call.raw(events({ choices: [{ delta: { tool_calls: deltas } }] }));
    });
    expect(parts.at(-1)).toMatchObject({
      type: 'error',
      error: { message: expect.stringContaining('too many') },
    });
  });

  it('may not have more than 512 MB, of which nothing is a reply', async () => {
    const comment = Buffer.alloc(16 * 1024 * 1024, ':');
    const chunks = Array.from({ length: 33 }, () => comment);
    const parts = await Array.fromAsync(readCompletion(ReadableStream.from(chunks), () => undefined));
    expect(parts).toMatchObject([{ error: { message: expect.stringContaining('too long') } }]);
  });
});

const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
const chunk = (delta: object, finish_reason: string | null = null, fields: object = {}) => ({
  ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' },
  choices: [{ index: 0, delta, finish_reason }],
  ...fields,
});
const hello = chunk({ role: 'assistant', content: 'Hello' });
const stop = chunk({}, 'stop');
const usageChunk = { id: 'c', choices: [], usage };
const done = 'data: [DONE]\n\n';
const usual = events(hello, stop, usageChunk) + done;
/** Lets the bytes arrive before the connection is cut. */
const thenCut = (body: string) => (call: ModelCall) => {
  call.raw(body);
  setTimeout(() => call.reset(), 20);
};
const thenOpen = (body: string) => (call: ModelCall) => call.raw(body);

/** What becomes of a response; the reply `Hello` with its usage and the reason `stop`, unless it says more. */
interface End {
  text?: string;
  /** Prompt and completion tokens. */
  usage?: [number, number];
  reason?: string;
  /** The kind of the failure. */
  failure?: string;
}
type Send = (call: ModelCall) => void;

const unreported: End = { usage: [0, 0] };
const failed: End = { failure: 'failed' };
const unreachable: End = { failure: 'unavailable' };
const failedAtOnce: End = { failure: 'failed', text: '' };

it.each<[name: string, response: string | Send, end?: End]>([
  ['usage without choices', events(hello, stop, { id: 'c', usage }) + done],
  ['usage in every chunk', events({ ...hello, usage }, { ...stop, usage }) + done],
  [
    'usage in the choice',
    events(hello, chunk({}, null, { choices: [{ delta: {}, finish_reason: 'stop', usage }] })) + done,
  ],
  [
    'usage of another shape',
    events(hello, stop, { choices: [], usage: { prompt_tokens: '3', completion_tokens: -4 } }) + done,
    unreported,
  ],
  ['no usage', events(hello, stop) + done, unreported],
  ['a ping', events(hello, { type: 'ping' }, stop, usageChunk) + done],
  ['empty data', `${events('', hello, '', stop)}data\n\n${events(usageChunk)}${done}`],
  ['unparsable data', events(hello, '{"choices": [', 'null', '7', '[]', stop, usageChunk) + done],
  ['an unknown event', `event: x\n${events({ x: 1 }, hello, stop, usageChunk)}${done}`],
  ['an error that is null', events({ ...hello, error: null }, stop, usageChunk) + done],
  ['no finish reason, but an end', events(hello, usageChunk) + done],
  ['a finish reason, but no end', events(hello, stop, usageChunk)],
  ['a cut after the finish reason', thenCut(events(hello, stop)), unreported],
  ['garbage after the finish reason', `${events(hello, stop)}<html>{`, unreported],
  [
    'an error after the finish reason',
    events(hello, stop, { error: { message: 'late' } }, usageChunk) + done,
  ],
  ['a connection left open after the end', thenOpen(usual)],
  ['a connection left open after the finish reason', thenOpen(events(hello, stop, usageChunk))],
  ['events after the end', usual + events(chunk({ content: 'More' }))],
  [
    'content in parts',
    events(
      chunk({ content: [{ type: 'text', text: 'Hel' }, null, { type: 'text', text: 'lo' }] }),
      stop,
      usageChunk,
    ) + done,
  ],
  [
    'a message in place of a delta',
    events({ choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }], usage }) + done,
  ],
  [
    'an empty finish reason in every chunk',
    events(chunk({ content: 'Hello' }, ''), chunk({ content: null }, ''), stop, usageChunk) + done,
  ],
  [
    'reasoning under any name',
    events(
      chunk({ reasoning_content: 'Hm. ', content: '' }),
      chunk({ reasoning: 'Hm. ', content: null }),
      chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm. ' }] }] }),
      ...[hello, stop, usageChunk],
    ) + done,
  ],
  ['the limit of tokens', events(hello, chunk({}, 'length'), usageChunk) + done, { reason: 'length' }],
  ['no finish reason and no end', events(hello, usageChunk), failed],
  ['a cut after the text', thenCut(events(hello)), unreachable],
  [
    'an event of the name error',
    `${events(hello)}event: error\n${events({ message: 'no' }, stop)}${done}`,
    failed,
  ],
  ['the finish reason error', events(hello, chunk({}, 'error'), usageChunk) + done, { reason: 'error' }],
  [
    'a rejection by the model',
    events(chunk({ refusal: 'Hello' }), stop, usageChunk) + done,
    { reason: 'content-filter' },
  ],
  ['an end without a text', done, failedAtOnce],
  ['a page', '<html>\n\nHello</html>', failedAtOnce],
  ['one object that is an error', '{"error": {"message": "no"}}', failedAtOnce],
])('a response of a provider with %s', async (_name, response, end = {}) => {
  const respond: Send = (call) => {
    if (typeof response !== 'string') return response(call);
    call.raw(response);
    call.end();
  };
  Object.assign(server, { onCall: respond, onPlainCall: respond });
  const model = retryingModel(modelNamed('scripted'), { ...freeRetries(clock), attempts: 1 });
  let text = '';
  const listener = {
    text: (delta: string) => {
      text += delta;
    },
    progress: () => undefined,
    toolCall: () => ({}),
  };
  const [reply, title] = await Promise.allSettled([
    model.stream({ prompt }).then((parts) => readModelResponse(parts, { text: 100, other: 100 }, listener)),
    // A title is made of the same response.
    model.generate({ prompt }),
  ]);
  expect(text).toBe(end.text ?? 'Hello');
  if (end.failure !== undefined) {
    const rejection = { status: 'rejected', reason: { kind: end.failure } };
    expect([reply, title]).toMatchObject([rejection, rejection]);
    return;
  }
  const [total_prompt_tokens, total_completion_tokens] = end.usage ?? [3, 4];
  const finishReason = end.reason ?? 'stop';
  expect(reply).toMatchObject({
    value: { finishReason, usage: { total_prompt_tokens, total_completion_tokens } },
  });
  expect(title).toMatchObject({
    value: { content: [{ type: 'text', text: 'Hello' }], finishReason: { unified: finishReason } },
  });
});
