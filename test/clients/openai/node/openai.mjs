import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import OpenAI from 'openai';
import { runChecks } from './run-checks.mjs';

const { BASE, KEY, AGENT, TOOL_AGENT, LIMITED_KEY, LIMITED_AGENT, IMAGE } = process.env;
const clientOf = (apiKey) => new OpenAI({ baseURL: `${BASE}/openai`, apiKey });
const client = clientOf(KEY);
const requestOf = (content, fields = {}) => ({
  model: AGENT,
  messages: [{ role: 'user', content }],
  ...fields,
});
const complete = (content, fields) => client.chat.completions.create(requestOf(content, fields));

async function readStream(stream) {
  let text = '';
  let usage;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? '';
    usage = chunk.usage ?? usage;
  }
  return { text, usage };
}

await runChecks({
  models: async () => {
    const models = await Array.fromAsync(client.models.list());
    assert.ok(models.some(({ id }) => id === AGENT));
  },
  plain: async () => {
    const { choices, usage } = await complete('Two words');
    assert.equal(choices[0].message.content, 'One two');
    assert.equal(choices[0].finish_reason, 'stop');
    assert.equal(usage.total_tokens, 5);
  },
  stream: async () => {
    const options = { stream: true, stream_options: { include_usage: true } };
    const { text, usage } = await readStream(await complete('Two words', options));
    assert.equal(text, 'One two');
    assert.equal(usage.total_tokens, 5);
  },
  steps: async () => {
    const runner = client.chat.completions.stream(requestOf('Six steps', { model: TOOL_AGENT }));
    const steps = [];
    runner.on('chunk', ({ agent_steps = [] }) => steps.push(...agent_steps));
    const completion = await runner.finalChatCompletion();
    assert.equal(completion.choices[0].message.content, 'One two');
    assert.equal(steps.filter(({ ended_at }) => ended_at !== null).length, 6);
  },
  'wrong key': () =>
    assert.rejects(clientOf('ak_wrong').chat.completions.create(requestOf('Hi')), OpenAI.AuthenticationError),
  'unknown model': () => assert.rejects(complete('Hi', { model: 'gpt-5' }), OpenAI.NotFoundError),
  'rate limit': async () => {
    const send = () =>
      clientOf(LIMITED_KEY).chat.completions.create(requestOf('Two words', { model: LIMITED_AGENT }));
    for (const { choices } of await Promise.all([send(), send()]))
      assert.equal(choices[0].message.content, 'One two');
  },
  'broken stream': async () => {
    const stream = await complete('Break', { stream: true });
    await assert.rejects(readStream(stream), OpenAI.APIError);
  },
  image: async () => {
    const image = {
      type: 'image_url',
      image_url: { url: `data:image/png;base64,${readFileSync(IMAGE, 'base64')}` },
    };
    const { choices } = await complete([{ type: 'text', text: 'Count images' }, image]);
    assert.equal(choices[0].message.content, '1 image');
  },
  'paid once': async () => {
    for (const failure of ['Answer 500', 'Stay silent', 'Reject', 'Break, whole'])
      await assert.rejects(complete(failure), OpenAI.APIError);
    assert.equal((await complete('Filter')).choices[0].finish_reason, 'content_filter');
    await assert.rejects(complete('Break, streamed', { stream: true }).then(readStream), OpenAI.APIError);
  },
});
