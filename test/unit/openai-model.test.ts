import { afterAll, beforeAll, expect, it } from 'vitest';
import { openai } from '#agents/models/openai.ts';
import { type ScriptedModel, startScriptedModel } from '#support/scripted-model.ts';

let server: ScriptedModel;
beforeAll(async () => {
  server = await startScriptedModel();
});
afterAll(() => server.close());

async function bodyFor(name: string): Promise<unknown> {
  const provider = openai({ baseUrl: () => server.url, apiKey: async () => 'key' });
  const { stream } = await provider.model(name).doStream({
    prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
    maxOutputTokens: 100,
  });
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
