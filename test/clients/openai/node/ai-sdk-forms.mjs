import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, Output, streamText } from 'ai';
import { Person } from './forms.mjs';
import { runForms } from './run-checks.mjs';

const { BASE, KEY, AGENT } = process.env;
const modelOf = (supportsStructuredOutputs) =>
  createOpenAICompatible({
    ...{ name: 'agents', baseURL: `${BASE}/openai`, apiKey: KEY, supportsStructuredOutputs },
  }).chatModel(AGENT);
const model = modelOf(true);
const output = Output.object({ schema: Person });

await runForms({
  'Output.object': async (prompt) => (await generateText({ model, prompt, output })).output,
  'Output.object, streamed': async (prompt) =>
    await streamText({ model, prompt, output, onError: () => {} }).output,
  'Output.object without supportsStructuredOutputs': async (prompt) =>
    (await generateText({ model: modelOf(false), prompt, output })).output,
});
