import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, streamText } from 'ai';
import { runChecks } from './run-checks.mjs';

const { BASE, KEY, AGENT, TOOL_AGENT, LIMITED_KEY, LIMITED_AGENT, IMAGE } = process.env;
const modelOf = (model, apiKey = KEY) =>
  createOpenAICompatible({ name: 'agents', baseURL: `${BASE}/openai`, apiKey, includeUsage: true }).chatModel(
    model,
  );
const model = modelOf(AGENT);

/** Without `onError`, streamText prints errors. */
const stream = (prompt, options = {}) => streamText({ model, prompt, onError: () => {}, ...options });

await runChecks({
  plain: async () => {
    const { text, usage, finishReason } = await generateText({ model, prompt: 'Two words' });
    assert.deepEqual([text, usage.totalTokens, finishReason], ['One two', 5, 'stop']);
  },
  stream: async () => {
    const { text, usage } = stream('Two words');
    assert.deepEqual([await text, (await usage).totalTokens], ['One two', 5]);
  },
  steps: async () => {
    const { text, reasoningText } = stream('Six steps', { model: modelOf(TOOL_AGENT) });
    assert.equal(await text, 'One two');
    assert.equal((await reasoningText).match(/Asking another agent/g).length, 6);
  },
  'wrong key': () =>
    assert.rejects(generateText({ model: modelOf(AGENT, 'ak_wrong'), prompt: 'Hi' }), { statusCode: 401 }),
  'unknown model': () =>
    assert.rejects(generateText({ model: modelOf('gpt-5'), prompt: 'Hi' }), { statusCode: 404 }),
  'rate limit': async () => {
    const send = () => generateText({ model: modelOf(LIMITED_AGENT, LIMITED_KEY), prompt: 'Two words' });
    for (const { text } of await Promise.all([send(), send()])) assert.equal(text, 'One two');
  },
  'broken stream': async () => {
    const errors = [];
    for await (const part of stream('Break').fullStream) if (part.type === 'error') errors.push(part.error);
    assert.equal(errors.length, 1);
  },
  image: async () => {
    const content = [
      { type: 'text', text: 'Count images' },
      { type: 'file', data: readFileSync(IMAGE), mediaType: 'image/png' },
    ];
    assert.equal((await generateText({ model, messages: [{ role: 'user', content }] })).text, '1 image');
  },
  'paid once': async () => {
    const complete = (prompt) => generateText({ model, prompt, maxRetries: 0 });
    for (const prompt of ['Answer 500', 'Stay silent', 'Reject', 'Break, whole'])
      await assert.rejects(complete(prompt));
    assert.equal((await complete('Filter')).finishReason, 'content-filter');
    await stream('Break, streamed', { maxRetries: 0 }).consumeStream();
  },
});
