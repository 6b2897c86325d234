import { afterEach, describe, expect, it } from 'vitest';
import { readModelResponse } from '#agents/model-response.ts';
import { readCompletion } from '#agents/models/completions/read-completion.ts';
import { openai } from '#agents/models/openai.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { replyWith } from '#support/model-server.ts';
import { type ModelCall, startScriptedModel } from '#support/scripted-model.ts';

const server = closeAfterTests(await startScriptedModel());
const sayHello = (call: ModelCall) => replyWith(call, 'Hello');
afterEach(() => {
  server.onCall = sayHello;
});

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

describe('an answer', () => {
  const responseOf = async (script: (call: ModelCall) => void) => {
    server.onCall = script;
    const { stream } = await modelNamed('scripted').doStream({ prompt });
    return Array.fromAsync(stream);
  };

  const events = (fields: object) => `data: ${JSON.stringify(fields)}`;
  const hello = events({ choices: [{ delta: { content: 'Hé' } }] });
  const world = events({ choices: [{ delta: { content: '👋' }, finish_reason: 'stop' }] });
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
      else
        for (const delta of deltas)
          call.raw(`${events({ choices: [{ delta: { tool_calls: [delta] } }] })}\n\n`);
      if (form === 'events') call.raw(`${events({ choices: [{ delta: {}, finish_reason: reason }] })}\n\n`);
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
      call.raw(`${events({ choices: [{ delta: { [field]: 'Hm. ' } }] })}\n\n`);
      call.raw(`${events({ choices: [{ delta: { [field]: 'Yes.' } }] })}\n\n`);
      const tool_calls = [{ ...delta('a', '{"x":1}', 0, '1'), extra_content }];
      call.raw(`${events({ choices: [{ delta: { tool_calls }, finish_reason: 'tool_calls' }] })}\n\n`);
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
      call.raw(`${events({ choices: [{ delta: { tool_calls: deltas } }] })}\n\n`);
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

  it('may come in one piece', async () => {
    server.onPlainCall = (call) => {
      call.chunk('All ');
      call.chunk('of it');
      call.callTools({ name: 'one', arguments: { a: 1 } });
      call.finish();
    };
    expect(await modelNamed('scripted').doGenerate({ prompt })).toMatchObject({
      content: [
        { type: 'text', text: 'All of it' },
        { type: 'tool-call', toolName: 'one', input: '{"a":1}' },
      ],
      finishReason: { unified: 'tool-calls' },
    });
  });
});
