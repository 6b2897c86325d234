import { afterEach, describe, expect, it } from 'vitest';
import { readCompletion } from '#agents/models/completions/read-completion.ts';
import { openai } from '#agents/models/openai.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { type ModelCall, startScriptedModel } from '#support/scripted-model.ts';

const server = closeAfterTests(await startScriptedModel());
const sayHello = (call: ModelCall) => {
  call.chunk('Hello');
  call.finish();
};
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

it.each(['gpt-5-mini', 'gpt-5', 'o3', 'o4-mini'])(
  'bounds the completion of %s, which refuses max_tokens',
  async (name) => {
    const body = await bodyFor(name);
    expect(body).toMatchObject({ model: name, max_completion_tokens: 100 });
    expect(body).not.toHaveProperty('max_tokens');
  },
);

it.each(['gpt-4o', 'llama3.3', 'openhermes'])(
  'bounds the tokens of %s, whose server may know nothing else',
  async (name) => {
    const body = await bodyFor(name);
    expect(body).toMatchObject({ model: name, max_tokens: 100 });
    expect(body).not.toHaveProperty('max_completion_tokens');
  },
);

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

it('sends its key', async () => {
  await bodyFor('scripted');
  expect(server.calls.at(-1)?.headers.authorization).toBe('Bearer key');
});

describe('an answer', () => {
  const responseOf = async (script: (call: ModelCall) => void) => {
    server.onCall = script;
    const { stream } = await modelNamed('scripted').doStream({ prompt });
    return Array.fromAsync(stream);
  };
  const finishOf = async (script: (call: ModelCall) => void) =>
    (await responseOf(script)).find((part) => part.type === 'finish')?.finishReason;

  it('comes with its tokens', async () => {
    expect((await responseOf(sayHello)).at(-1)).toMatchObject({
      type: 'finish',
      finishReason: { unified: 'stop', raw: 'stop' },
      usage: { inputTokens: { total: 11 }, outputTokens: { total: 7 } },
    });
  });

  it('may tell no tokens', async () => {
    const parts = await responseOf((call) => call.finish(null));
    expect(parts.at(-1)).toMatchObject({
      finishReason: { unified: 'stop' },
      usage: { inputTokens: { total: undefined } },
    });
  });

  it('may have pieces without choices', async () => {
    const parts = await responseOf((call) => {
      call.raw('data: {"id":"c1","object":"chat.completion.chunk","choices":[]}\n\n');
      sayHello(call);
    });
    expect(parts.filter(({ type }) => type === 'text-delta')).toMatchObject([{ delta: 'Hello' }]);
  });

  it('says why it was cut', async () => {
    expect(await finishOf((call) => call.cut('length'))).toEqual({ unified: 'length', raw: 'length' });
    expect(await finishOf((call) => call.cut('content_filter'))).toEqual({
      unified: 'content-filter',
      raw: 'content_filter',
    });
  });

  it('that ends without a finish is an error, not a reply', async () => {
    const parts = await responseOf((call) => {
      call.chunk('Half');
      call.end();
    });
    expect(parts.some(({ type }) => type === 'error')).toBe(true);
  });

  it('may call several tools, in fragments that take turns', async () => {
    const parts = await responseOf((call) => {
      call.reason('Two at once');
      call.callTools({ name: 'one', arguments: { long: 'enough' } }, { name: 'two', arguments: '{"broken' });
      call.finish();
    });
    expect(parts.filter(({ type }) => type === 'tool-call')).toMatchObject([
      { toolCallId: 'call_0', toolName: 'one', input: '{"long":"enough"}' },
      { toolCallId: 'call_1', toolName: 'two', input: '{"broken' },
    ]);
    expect(parts.at(-1)).toMatchObject({ finishReason: { unified: 'tool-calls' } });
  });

  const events = (fields: object) => `data: ${JSON.stringify(fields)}`;
  const hello = events({ choices: [{ delta: { content: 'Hé' } }] });
  const world = events({ choices: [{ delta: { content: '👋' }, finish_reason: 'stop' }] });
  const object = JSON.stringify({ choices: [{ message: { content: 'Hé👋' }, finish_reason: 'stop' }] });
  it.each([
    ['LF', `${hello}\n\n${world}\n\ndata: [DONE]\n\n`],
    ['CRLF', `${hello}\r\n\r\n${world}\r\n\r\ndata: [DONE]\r\n\r\n`],
    ['CR', `${hello}\r\r${world}\r\rdata: [DONE]\r\r`],
    ['a byte order mark', `\uFEFF${hello}\n\n${world}\n\n`],
    [
      'comments, names, ids and times',
      `: hi\nevent: message\nid: 1\nretry: 5\n${hello}\n\n:\n\n${world}\n\n`,
    ],
    ['data of several lines', `${hello.replaceAll(',', ',\ndata: ')}\n\n${world}\n\n`],
    ['no space after the colon', `${hello}\n\n${world}\n\n`.replaceAll('data: ', 'data:')],
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
