import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import { beforeEach, describe, expect, it } from 'vitest';
import { bedrock } from '#agents/models/bedrock.ts';
import { withImages, withImageTokens } from '#agents/models/http/image-tokens.ts';
import type { ModelProvider } from '#agents/models/model-provider.ts';
import { openai } from '#agents/models/openai.ts';
import { retryingModel } from '#agents/retrying-model.ts';
import { clock } from '#runtime/environment/invocation-context.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { freeRetries } from '#support/free-retries.ts';
import { listenLocally } from '#support/listen-locally.ts';

const bodies: string[] = [];
const lengths: (string | undefined)[] = [];
const server = closeAfterTests(
  await listenLocally(
    createServer(async (request, response) => {
      lengths.push(request.headers['content-length']);
      bodies.push(await text(request));
      response.writeHead(503).end();
    }),
  ),
);
process.env.AWS_ENDPOINT_URL_BEDROCK_RUNTIME = server.url;
beforeEach(() => {
  bodies.length = 0;
  lengths.length = 0;
});

const providers: [name: string, ModelProvider][] = [
  ['OpenAI', openai({ baseUrl: () => server.url, apiKey: async () => 'key', onSkipped: () => undefined })],
  [
    'Bedrock',
    bedrock({
      credentials: async () => ({ accessKeyId: 'id', secretAccessKey: 'secret' }),
      region: () => 'eu-west-1',
    }),
  ],
];

/** The images are encoded in slices of 196,608 bytes. */
const sizes = [0, 1, 2, 3, 196_607, 196_608, 196_609, 393_216];
const bytesOf = (size: number) => Uint8Array.from({ length: size }, (_each, index) => (index * 7) % 251);
const images = sizes.map(bytesOf);
const largest = bytesOf(400_000);
/** A part of a larger buffer. */
images.push(largest.subarray(5, 300_000));

const imagePart = (data: string | Uint8Array) => ({
  type: 'file' as const,
  data: { type: 'data' as const, data },
  mediaType: 'image/png',
});
const textPart = (value: string) => ({ type: 'text' as const, text: value });
const tokenOf = (prompt: LanguageModelV4Prompt): string => {
  const [token = ''] = withImageTokens({ prompt }).images.keys();
  return token;
};
const otherToken = tokenOf([{ role: 'user', content: [imagePart(largest)] }]);

const promptOf = (dataOf: (image: Uint8Array) => string | Uint8Array): LanguageModelV4Prompt => [
  { role: 'system', content: 'Grüße 👋' },
  { role: 'user', content: [textPart(`"${otherToken}"`), ...images.map(dataOf).map(imagePart)] },
  { role: 'assistant', content: [textPart('Nett \ud800')] },
  { role: 'user', content: [imagePart(dataOf(largest)), textPart('Wörter')] },
];

describe.each(providers)('images to a model of %s', (_name, provider) => {
  it('are sent as the SDK sends them, at each attempt', async () => {
    const model = retryingModel(provider.model('model'), {
      ...freeRetries(clock),
      ...{ attempts: 2, wait: async () => undefined },
    });
    const send = (prompt: LanguageModelV4Prompt) =>
      model.stream({ prompt, maxOutputTokens: 5 }).catch(() => undefined);
    await send(promptOf((image) => image));
    // The SDK itself makes a body of images that are base64 already.
    await send(promptOf((image) => Buffer.from(image).toString('base64')));
    const [first = '', second, sdk] = bodies;
    expect(bodies.length).toBe(4);
    expect(first.length).toBeGreaterThan(2_000_000);
    // A failed `toBe` would print megabytes.
    expect([first === sdk, second === sdk]).toEqual([true, true]);
    expect(lengths).toEqual(bodies.map((body) => String(Buffer.byteLength(body))));
  });
});

it('have other tokens in each call', () => {
  const prompt: LanguageModelV4Prompt = [{ role: 'user', content: [imagePart(largest), imagePart(largest)] }];
  const tokens = [1, 2].flatMap(() => [...withImageTokens({ prompt }).images.keys()]);
  expect(new Set(tokens).size).toBe(4);
});

it('are never lost in silence', () => {
  expect(() => withImages(new Map([['token', largest]]), { body: '{}' })).toThrow('lacks an image');
});
