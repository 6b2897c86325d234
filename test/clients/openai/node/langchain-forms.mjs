import { ChatOpenAI } from '@langchain/openai';
import { Person } from './forms.mjs';
import { runForms } from './run-checks.mjs';

const { BASE, KEY, AGENT } = process.env;
const model = new ChatOpenAI({ model: AGENT, apiKey: KEY, configuration: { baseURL: `${BASE}/openai` } });

async function lastOf(stream) {
  let last;
  for await (const chunk of stream) last = chunk;
  return last;
}

await runForms({
  default: (content) => model.withStructuredOutput(Person).invoke(content),
  'default, streamed': async (content) => lastOf(await model.withStructuredOutput(Person).stream(content)),
  ...Object.fromEntries(
    ['jsonSchema', 'functionCalling', 'jsonMode'].map((method) => [
      method,
      (content) => model.withStructuredOutput(Person, { method }).invoke(content),
    ]),
  ),
});
