// Drives LangChain and the AI SDK against a local run. docs/openai.md has the same lines.
import assert from 'node:assert/strict';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { ChatOpenAI } from '@langchain/openai';
import { generateText, streamText } from 'ai';

const { BASE, KEY, AGENT, TOOL_AGENT } = process.env;
const demonstration = /^This is a demonstration/;
const useTool = 'Please use consultant_call_agent {"message": "Help"}';

async function langchain() {
  const modelOf = (model) =>
    new ChatOpenAI({ model, apiKey: KEY, configuration: { baseURL: `${BASE}/openai` } });
  const { content, usage_metadata: usage } = await modelOf(AGENT).invoke('What can you do?');
  assert.match(content, demonstration);
  assert.ok(usage.total_tokens > 0);
  for (const [agent, question] of [
    [AGENT, 'What can you do?'],
    [TOOL_AGENT, useTool],
  ]) {
    let text = '';
    for await (const chunk of await modelOf(agent).stream(question)) text += chunk.content;
    assert.ok(text.length > 0);
    if (agent === AGENT) assert.equal(text, content);
  }
}

async function aiSdk() {
  const service = createOpenAICompatible({ name: 'agents', baseURL: `${BASE}/openai`, apiKey: KEY });
  const whole = await generateText({ model: service.chatModel(AGENT), prompt: 'What can you do?' });
  assert.match(whole.text, demonstration);
  assert.equal(whole.finishReason, 'stop');
  const streamed = streamText({ model: service.chatModel(AGENT), prompt: 'What can you do?' });
  assert.equal(await streamed.text, whole.text);
  const withTool = streamText({ model: service.chatModel(TOOL_AGENT), prompt: useTool });
  assert.ok((await withTool.text).length > 0);
  assert.match(await withTool.reasoningText, /Asking another agent/);
  await assert.rejects(
    generateText({ model: service.chatModel('gpt-5'), prompt: 'Hi', maxRetries: 0 }),
    /does not exist/,
  );
}

for (const client of [langchain, aiSdk]) {
  await client();
  console.log(`${client.name}: passed`);
}
