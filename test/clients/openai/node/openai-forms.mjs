import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { LengthFinishReasonError } from 'openai/error';
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod';
import { Family, Person } from './forms.mjs';
import { runForms } from './run-checks.mjs';

const { BASE, KEY, AGENT } = process.env;
const { completions } = new OpenAI({ baseURL: `${BASE}/openai`, apiKey: KEY }).chat;
const requestOf = (content, fields) => ({
  model: AGENT,
  messages: [{ role: 'user', content }],
  ...fields,
});
const formOf = (schema) => ({ response_format: zodResponseFormat(schema, 'answer') });
const tool = zodFunction({ name: 'answer', parameters: Person });
const forced = {
  named: { type: 'function', function: { name: 'answer' } },
  allowed: {
    type: 'allowed_tools',
    allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'answer' } }] },
  },
};

async function parse(content, fields) {
  return (await completions.parse(requestOf(content, fields))).choices[0].message;
}

const call = async (content, tool_choice) => {
  const { tool_calls } = await parse(content, { tools: [tool], tool_choice });
  return tool_calls[0].function.parsed_arguments;
};

await runForms(
  {
    parse: async (content) => (await parse(content, formOf(Person))).parsed,
    stream: async (content) => {
      const { choices } = await completions.stream(requestOf(content, formOf(Person))).finalChatCompletion();
      return choices[0].message.parsed;
    },
    json_object: async (content) =>
      Person.parse(JSON.parse((await parse(content, { response_format: { type: 'json_object' } })).content)),
    'one tool': (content) => call(content, forced.named),
    'one tool, required': (content) => call(content, 'required'),
    'one tool, allowed': (content) => call(content, forced.allowed),
  },
  {
    'a family': async () => assert.deepEqual((await parse('Family', formOf(Family))).parsed.names, ['Ann']),
    cut: () => assert.rejects(parse('Cut person', formOf(Person)), LengthFinishReasonError),
    'cut stream': () =>
      assert.rejects(
        completions.stream(requestOf('Cut person', formOf(Person))).finalChatCompletion(),
        LengthFinishReasonError,
      ),
  },
);
