import { hash } from 'node:crypto';
import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { Sha256 } from '@smithy/core/checksum';
import { SignatureV4 } from '@smithy/signature-v4';
import { afterEach, describe, expect, it } from 'vitest';
import { bedrock } from '#agents/models/bedrock.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { type ModelCall, replyWith } from '#support/model-server.ts';
import { type ConverseBody, startScriptedBedrock } from '#support/scripted-bedrock.ts';

const server = closeAfterTests(await startScriptedBedrock());
process.env.AWS_ENDPOINT_URL_BEDROCK_RUNTIME = server.url;
const { onCall } = server;
afterEach(() => void Object.assign(server, { onCall }));

const keys = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI',
  sessionToken: 'token of the role',
};
const region = () => 'eu-west-1';
const user = (...texts: string[]) => ({
  role: 'user' as const,
  content: texts.map((text) => ({ type: 'text' as const, text })),
});
const assistant = (...texts: string[]) => ({ ...user(...texts), role: 'assistant' as const });

async function stream(options: Partial<LanguageModelV4CallOptions> = {}, name = 'scripted') {
  const model = bedrock({ credentials: async () => keys, region }).model(name);
  const response = await model.doStream({ prompt: [user('Hi')], ...options });
  const parts = await Array.fromAsync(response.stream);
  return { parts, call: server.calls.at(-1) as ModelCall };
}

const bodyFor = async (options: Partial<LanguageModelV4CallOptions>): Promise<ConverseBody> =>
  (await stream(options)).call.body as ConverseBody;

describe('a call', () => {
  const image = {
    type: 'file' as const,
    data: { type: 'data' as const, data: Buffer.alloc(300_000, 'image') },
    mediaType: 'image/png',
  };

  it.each([
    ['', user('Hi')],
    ['with an image ', { ...user(), content: [image] }],
  ])('%sis signed with the credentials of this moment, session token and all', async (_what, question) => {
    let given = keys;
    const name = 'arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/abc123';
    const model = bedrock({ credentials: async () => given, region }).model(name);
    for (const next of [
      keys,
      { ...keys, accessKeyId: 'AKIDROTATED', secretAccessKey: 'new', sessionToken: 'new' },
    ]) {
      given = next;
      await Array.fromAsync((await model.doStream({ prompt: [question] })).stream);
      const { request, headers, body } = server.calls.at(-1) as ModelCall;
      expect(request.model).toBe(name);
      expect(headers['x-amz-content-sha256']).toBe(hash('sha256', JSON.stringify(body)));
      expect(headers['x-amz-security-token']).toBe(next.sessionToken);
      expect(headers.authorization).toBe(
        await signatureOf(`/model/${encodeURIComponent(name)}/converse-stream`, headers, body, next),
      );
    }
  });
});

describe('a conversation', () => {
  it('has no blank texts, and no two messages of a role in a row where one was blank', async () => {
    const prompt = [
      { role: 'system' as const, content: ' \n' },
      user('One', ' '),
      assistant('\n'),
      user('Two'),
    ];
    const { system, messages } = await bodyFor({ prompt });
    expect({ system, messages }).toEqual({
      system: [],
      messages: [{ role: 'user', content: [{ text: 'One' }, { text: 'Two' }] }],
    });
  });

  const tools: LanguageModelV4CallOptions['tools'] = [
    { type: 'function', name: 'look_up', description: 'Looks up', inputSchema: { type: 'object' } },
  ];
  const call = { toolCallId: 'c1', toolName: 'look_up' };
  const withTools: LanguageModelV4Prompt = [
    user('Who?'),
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'Let me see.' },
        { type: 'tool-call', ...call, input: { name: 'Ann' } },
      ],
    },
    {
      role: 'tool',
      content: [{ type: 'tool-result', ...call, output: { type: 'json', value: { age: 7 } } }],
    },
  ];

  it.each([
    ['with a tool choice of none', { tools, toolChoice: { type: 'none' as const } }],
    ['without tools', {}],
  ])('%s keeps what tools have found, as text', async (_, options) => {
    const body = await bodyFor({ prompt: withTools, ...options });
    expect(body.messages).toEqual([
      { role: 'user', content: [{ text: 'Who?' }] },
      { role: 'assistant', content: [{ text: 'Let me see.' }] },
      { role: 'user', content: [{ text: 'The tool look_up answered: {"age":7}' }] },
    ]);
    expect(body).not.toHaveProperty('toolConfig');
  });

  it('joins what tools have found to the question when the model only called', async () => {
    const prompt = withTools.map((message) =>
      message.role === 'assistant'
        ? { ...message, content: message.content.filter(({ type }) => type === 'tool-call') }
        : message,
    );
    expect((await bodyFor({ prompt, tools, toolChoice: { type: 'none' } })).messages).toEqual([
      { role: 'user', content: [{ text: 'Who?' }, { text: 'The tool look_up answered: {"age":7}' }] },
    ]);
  });
});

describe('marks for the cache of prompts', () => {
  const system = { role: 'system' as const, content: 'You are a guide.' };
  const mark = { cachePoint: { type: 'default' } };
  const bodyOf = async (prompt: LanguageModelV4Prompt, name = 'eu.anthropic.claude-sonnet-4-5-v1:0') =>
    (await stream({ prompt }, name)).call.body as ConverseBody;

  it('stand after the system message and the last message of a conversation that goes on', async () => {
    const conversation = [system, user('Who?'), assistant('Ann'), user('Why?')];
    for (const name of ['anthropic.claude-3-7-sonnet-20250219-v1:0', 'amazon.nova-lite-v1:0'])
      expect(await bodyOf(conversation, name)).toMatchObject({
        system: [{ text: system.content }, mark],
        messages: [
          { content: [{ text: 'Who?' }] },
          { content: [{ text: 'Ann' }] },
          { content: [{ text: 'Why?' }, mark] },
        ],
      });
  });

  it('stand after the last results of tools, and are at most three', async () => {
    const call = { toolCallId: 'c1', toolName: 'look_up' };
    const results: LanguageModelV4Prompt = Array.from({ length: 5 }, () => [
      { role: 'assistant' as const, content: [{ type: 'tool-call' as const, ...call, input: {} }] },
      {
        role: 'tool' as const,
        content: [{ type: 'tool-result' as const, ...call, output: { type: 'json' as const, value: 1 } }],
      },
    ]).flat();
    const tools = [{ type: 'function' as const, name: 'look_up', inputSchema: { type: 'object' as const } }];
    const { call: sent } = await stream(
      { prompt: [system, user('Who?'), ...results], tools },
      'anthropic.claude-sonnet-4-5-v1:0',
    );
    const { messages } = sent.body as ConverseBody;
    const marked = messages.flatMap(({ content }, index) =>
      'cachePoint' in (content.at(-1) ?? {}) ? [index] : [],
    );
    expect(marked).toEqual([0, messages.length - 1]);
    expect(messages.filter(({ content }) => content[0]?.toolResult !== undefined)).toHaveLength(5);
  });

  it('stand after the system message alone if nobody goes on, as in a request of a batch', async () => {
    const body = await bodyOf([system, user('Hi')]);
    expect(body).toMatchObject({
      system: [{ text: system.content }, mark],
      messages: [{ content: [{ text: 'Hi' }] }],
    });
    expect(body.messages[0]?.content).toHaveLength(1);
  });

  it.each([
    'anthropic.claude-3-haiku-20240307-v1:0',
    'meta.llama3-3-70b-instruct-v1:0',
    'amazon.nova-sonic-v1:0',
  ])('are not sent to %s, which caches none', async (name) => {
    expect(
      JSON.stringify(await bodyOf([system, user('Who?'), assistant('Ann'), user('Why?')], name)),
    ).not.toContain('cachePoint');
  });
});

describe('an answer', () => {
  const responseOf = async (script: (call: ModelCall) => void) => {
    server.onCall = script;
    return (await stream()).parts;
  };

  it('may tell no tokens', async () => {
    const parts = await responseOf((call) => replyWith(call, 'Hello', null));
    expect(parts.at(-1)).toMatchObject({
      finishReason: { unified: 'stop' },
      usage: { inputTokens: { total: undefined } },
    });
  });

  it('may be cut, and without a reason for its end it is an error', async () => {
    for (const [cut, unified] of [
      ['length', 'length'],
      ['content_filter', 'content-filter'],
    ] as const)
      expect((await responseOf((call) => call.cut(cut))).at(-1)).toMatchObject({ finishReason: { unified } });
    const parts = await responseOf((call) => {
      call.chunk('Half');
      call.end();
    });
    expect(parts).toContainEqual({ type: 'error', error: expect.objectContaining({ kind: 'failed' }) });
  });

  it('that is cut inside a frame is an error', async () => {
    await expect(
      responseOf((call) => {
        call.raw(new Uint8Array([0, 0, 0, 90, 0, 0]));
        call.end();
      }),
    ).rejects.toThrow();
  });
});

/** The signature that AWS would compute for the received request. */
async function signatureOf(
  path: string,
  headers: ModelCall['headers'],
  body: unknown,
  credentials: typeof keys,
): Promise<string | undefined> {
  const date = String(headers['x-amz-date']);
  const signer = new SignatureV4({
    service: 'bedrock',
    region: 'eu-west-1',
    credentials,
    sha256: Sha256,
    applyChecksum: false,
  });
  const signedNames = /SignedHeaders=([^,]+)/.exec(String(headers.authorization))?.[1]?.split(';') ?? [];
  const signed = await signer.sign(
    {
      method: 'POST',
      protocol: 'http:',
      hostname: String(headers.host),
      path,
      headers: Object.fromEntries(signedNames.map((name) => [name, String(headers[name])])),
      body: JSON.stringify(body),
    },
    { signingDate: new Date(date.replace(/(....)(..)(..T..)(..)(..Z)/, '$1-$2-$3:$4:$5')) },
  );
  return signed.headers.authorization;
}
