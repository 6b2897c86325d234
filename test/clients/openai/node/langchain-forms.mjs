import assert from 'node:assert/strict';
import { ChatOpenAI } from '@langchain/openai';
import { Person } from './forms.mjs';
import { runForms } from './run-checks.mjs';

const { BASE, KEY, AGENT } = process.env;
const model = (options = {}) =>
  new ChatOpenAI({ model: AGENT, apiKey: KEY, configuration: { baseURL: `${BASE}/openai` }, ...options });

/** By default it repeats a cut reply six times, for a minute. */
const modelFor = (content) => model(content.startsWith('Cut') ? { maxRetries: 0 } : {});

const mode = (options) => async (content) => {
  const found = await modelFor(content).withStructuredOutput(Person, options).invoke(content);
  // It does not look at the reason, so a cut call is undefined, and no error.
  if (options?.method === 'functionCalling' && content.startsWith('Cut')) assert.ok(found);
  return found;
};

async function streamed(content) {
  let last;
  for await (const chunk of await model().withStructuredOutput(Person).stream(content)) last = chunk;
  return last;
}

await runForms({
  default: mode(),
  'default, streamed': streamed,
  functionCalling: mode({ method: 'functionCalling' }),
  'functionCalling, strict': mode({ method: 'functionCalling', strict: true }),
  jsonMode: mode({ method: 'jsonMode' }),
});
