import assert from 'node:assert/strict';
import { evaluateAgent } from './evaluate-agent.mjs';
import { runForms } from './run-checks.mjs';

const schema = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer' } },
  required: ['name', 'age'],
  additionalProperties: false,
};

const mode = (response_format) => async (prompt) => {
  const [{ success, error, response }] = await evaluateAgent(prompt, {
    config: { response_format },
    assert: [{ type: 'is-json', value: schema }],
  });
  assert.ok(success, error);
  return typeof response.output === 'string' ? JSON.parse(response.output) : response.output;
};

await runForms({
  json_schema: mode({ type: 'json_schema', json_schema: { name: 'person', schema, strict: true } }),
  json_object: mode({ type: 'json_object' }),
});
