import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { HumanMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { runChecks } from './run-checks.mjs';

const { BASE, KEY, AGENT, TOOL_AGENT, LIMITED_KEY, LIMITED_AGENT, IMAGE } = process.env;
const modelOf = (model, apiKey = KEY, options = {}) =>
  new ChatOpenAI({ model, apiKey, configuration: { baseURL: `${BASE}/openai` }, ...options });
const model = modelOf(AGENT);

async function readStream(stream) {
  let whole;
  for await (const chunk of stream) whole = whole === undefined ? chunk : whole.concat(chunk);
  return whole;
}

await runChecks({
  plain: async () => {
    const { content, usage_metadata } = await model.invoke('Two words');
    assert.equal(content, 'One two');
    assert.equal(usage_metadata.total_tokens, 5);
  },
  stream: async () => {
    const { content, usage_metadata } = await readStream(await model.stream('Two words'));
    assert.equal(content, 'One two');
    assert.equal(usage_metadata.total_tokens, 5);
  },
  steps: async () => {
    const { content } = await readStream(await modelOf(TOOL_AGENT).stream('Six steps'));
    assert.equal(content, 'One two');
  },
  'wrong key': () => assert.rejects(modelOf(AGENT, 'ak_wrong').invoke('Hi'), { status: 401 }),
  'unknown model': () => assert.rejects(modelOf('gpt-5').invoke('Hi'), { status: 404 }),
  'rate limit': async () => {
    const limited = modelOf(LIMITED_AGENT, LIMITED_KEY);
    const replies = await Promise.all([limited.invoke('Two words'), limited.invoke('Two words')]);
    for (const { content } of replies) assert.equal(content, 'One two');
  },
  'broken stream': () =>
    assert.rejects(model.stream('Break').then(readStream), /The model cannot be reached/),
  image: async () => {
    const url = `data:image/png;base64,${readFileSync(IMAGE, 'base64')}`;
    const content = [
      { type: 'text', text: 'Count images' },
      { type: 'image_url', image_url: { url } },
    ];
    assert.equal((await model.invoke([new HumanMessage({ content })])).content, '1 image');
  },
  'paid once': async () => {
    const once = modelOf(AGENT, KEY, { maxRetries: 0 });
    for (const failure of ['Answer 500', 'Stay silent', 'Reject', 'Break, whole'])
      await assert.rejects(once.invoke(failure));
    assert.equal((await once.invoke('Filter')).response_metadata.finish_reason, 'content_filter');
    await assert.rejects(once.stream('Break, streamed').then(readStream));
  },
});
