import { describe, expect, it } from 'vitest';
import type { StreamEvent } from '#contract/events.ts';
import { requestsOf, resultsOfBatch } from '#support/batches.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { type ModelCall, replyWith } from '#support/model-server.ts';
import { type OpenTenant, openTenant } from '#support/open-tenant.ts';
import { openAiRequests } from '#support/openai-requests.ts';
import { startScriptedBedrock } from '#support/scripted-bedrock.ts';
import { startScriptedModel } from '#support/scripted-model.ts';
import { deltasOf, historyOf } from '#support/turns.ts';
import { useService } from '#support/use-service.ts';

const openai = closeAfterTests(await startScriptedModel());
const bedrock = closeAfterTests(await startScriptedBedrock());
const service = await useService({
  variables: { OPENAI_BASE_URL: openai.url, AWS_ENDPOINT_URL_BEDROCK_RUNTIME: bedrock.url },
});
const tenant = await openTenant(service, { model: 'openai:test', titles: false, openai: true });
const door = openAiRequests(service, tenant);

const schema = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer' } },
  required: ['name', 'age'],
  additionalProperties: false,
};
const response_format = { type: 'json_schema', json_schema: { name: 'person', schema } };
const person = '{"name": "Ann", "age": 7}';
const wrong = '{"name": "Ann", "age": "seven"}';
const problem = 'The reply does not match the schema: /age must be integer';

/** The model says these texts, one in each call. */
function script(...texts: (string | ((call: ModelCall) => void))[]): ModelCall[] {
  const calls: ModelCall[] = [];
  openai.onCall = (call) => {
    const text = texts[calls.push(call) - 1];
    if (typeof text === 'function') return text(call);
    if (text === undefined) return call.fail(400);
    for (const chunk of text.match(/.{1,5}/gs) ?? []) call.chunk(chunk);
    call.finish();
  };
  return calls;
}

type Fields = Record<string, unknown>;

async function stream(fields: Fields = {}): Promise<{ chatId: number; events: StreamEvent[] }> {
  const chat = await tenant.createChat({ name: 'Forms' });
  const body = { message: 'Who?', agent_id: tenant.agentId, response_format, ...fields };
  const events = (await (await tenant.client.stream(chat.id, body)).all()) as StreamEvent[];
  return { chatId: chat.id, events };
}

/** The response to a send without a stream. */
const sendTo = async (to: OpenTenant, fields: Fields = { response_format }) =>
  to.send(await to.createChat(), { message: 'Who?', ...fields });

describe('a send with a schema', () => {
  it('streams the JSON, and the model gets the schema', async () => {
    const calls = script(`\n${person}\n`);
    const { chatId, events } = await stream();
    expect(deltasOf(events).join('')).toBe(person);
    expect(events.find(({ type }) => type === 'response.output_text.completed')).toMatchObject({
      final_text: person,
      usage: { total_calls: 1 },
    });
    expect((await historyOf(tenant.client, chatId)).at(-1)?.content).toBe(person);
    expect(calls[0]?.body).toMatchObject({
      response_format: { type: 'json_schema', json_schema: { name: 'person', schema, strict: true } },
    });
  });

  it('has a wrong text repaired once, with one more call that is in the usage', async () => {
    const calls = script(wrong, person);
    const { events } = await stream();
    expect(deltasOf(events).join('')).toBe(person);
    expect(events.at(-2)).toMatchObject({ final_text: person, usage: { total_calls: 2 } });
    expect(calls[1]?.request.messages.slice(-2)).toMatchObject([
      { role: 'assistant', content: wrong },
      { role: 'user', content: expect.stringContaining('/age must be integer') },
    ]);
  });

  it.each([
    ['a wrong type', wrong],
    ['a preamble', `Sure: ${person}`],
    ['a fence', `\`\`\`json\n${person}\n\`\`\``],
    ['half of it', '{"name": "Ann", '],
    ['nothing', ''],
  ])('fails after two texts with %s, of which no client gets a byte', async (_, text) => {
    const calls = script(text, text);
    const { chatId, events } = await stream();
    expect(calls).toHaveLength(2);
    const message = expect.stringContaining('The reply does not match the schema: ');
    expect(events).toMatchObject([
      { type: 'response.created' },
      { type: 'response.error', code: 10005, message },
      '[DONE]',
    ]);
    const [, reply] = await historyOf(tenant.client, chatId);
    expect(reply).toMatchObject({
      content: '',
      meta: { error: { code: 10005 }, token_usage: { total_calls: 2 } },
    });
  });

  it.each([
    [{ type: 'json_schema' }, 'response_format.json_schema'],
    [{ type: 'xml' }, 'response_format.type must be one of text, json_object, json_schema'],
    [{ type: 'json_schema', json_schema: { name: 'a b', schema } }, 'response_format.json_schema.name'],
    [
      { type: 'json_schema', json_schema: { name: 'a', schema: { properties: { a: { if: true } } } } },
      'response_format.json_schema.schema at #/properties/a/if is not supported',
    ],
  ])('is rejected with %j', async (format, message) => {
    const chat = await tenant.createChat();
    const sent = await tenant.send(chat, { message: 'Who?', response_format: format });
    expect([sent.status, sent.body.message]).toEqual([400, expect.stringContaining(message)]);
    expect(await historyOf(tenant.client, chat.id)).toEqual([]);
  });

  it('may ask for any JSON object', async () => {
    const calls = script('[1]', '{"any": true}');
    const { events } = await stream({ response_format: { type: 'json_object' } });
    expect(deltasOf(events).join('')).toBe('{"any": true}');
    expect(calls[0]?.body).toMatchObject({ response_format: { type: 'json_object' } });
  });
});

describe('an agent with a schema', () => {
  it('replies in it to every send, and takes no other one', async () => {
    const agent = { output_schema: schema };
    const formed = await openTenant(service, { model: 'openai:test', titles: false, agent });
    script(person);
    expect((await sendTo(formed, {})).body).toMatchObject({ data: person });
    const problem = 'response_format must not be a json_schema: the agent has a schema of its own';
    const rejected = await sendTo(formed);
    expect([rejected.status, rejected.body.message]).toEqual([400, expect.stringContaining(problem)]);
  });

  it('replies offline with the demo model', async () => {
    const demo = await openTenant(service, { titles: false, agent: { output_schema: schema } });
    expect(JSON.parse((await sendTo(demo, {})).body.data)).toEqual({ name: '', age: 0 });
    const plain = await openTenant(service, { titles: false });
    const response_format = { type: 'json_schema', json_schema: { name: 'none', schema: { type: 'null' } } };
    expect((await sendTo(plain, { response_format })).body).toMatchObject({ data: 'null' });
  });
});

describe('a batch with a schema', () => {
  it('has results in it, and fails requests whose replies are not', async () => {
    openai.onCall = (call) =>
      replyWith(call, call.request.messages[0]?.content.includes('number 1') ? wrong : person);
    const requests = requestsOf(3, (index) => ({ message: `number ${index}` }));
    const success = { response_content: person, error_code: null, error_message: null };
    expect(await resultsOfBatch(tenant.client, tenant, requests, { response_format })).toMatchObject([
      success,
      { response_content: null, error_code: 500, error_message: problem },
      success,
    ]);
  });
});

describe('the OpenAI-compatible door', () => {
  const tool = { name: 'person', description: 'A person', parameters: schema };
  const tools = [{ type: 'function', function: tool }];
  const allowed = { mode: 'required', tools: [{ type: 'function' }] };

  it.each([
    [{ type: 'function', function: { name: 'person' } }, 'stop'],
    ['required', 'tool_calls'],
    [{ type: 'allowed_tools', allowed_tools: allowed }, 'tool_calls'],
  ])('returns it as the call of the one tool that is forced by %j', async (tool_choice, finish_reason) => {
    const calls = script(person);
    const { choices } = await door.complete({ tools, tool_choice });
    const tool_calls = [{ type: 'function', function: { name: 'person', arguments: person } }];
    expect(choices[0]).toMatchObject({ message: { content: null, tool_calls }, finish_reason });
    expect(calls[0]?.body).toMatchObject({ response_format: { json_schema: { name: 'person' } } });
    expect(calls[0]?.body).not.toHaveProperty('tools');
  });

  it('takes a tool whose description is empty, as LangChain for Python sends it', async () => {
    script(person);
    const empty = { type: 'function', function: { ...tool, description: '' } };
    const { choices } = await door.complete({ tools: [empty], tool_choice: 'required' });
    expect(choices[0]?.message.tool_calls).toHaveLength(1);
  });

  it.each([
    ['name', 'a.b', 'must be 1 to 64 letters, digits, underscores or hyphens'],
    ['description', 'x'.repeat(1025), 'must be at most 1024 characters'],
  ])('names the wrong %s of a tool', async (field, value, message) => {
    const wrongTool = { type: 'function', function: { ...tool, [field]: value } };
    expect(await door.rejection({ tools: [wrongTool], tool_choice: 'required' })).toMatchObject({
      ...{ status: 400, param: `tools[0].function.${field}` },
      message: expect.stringContaining(message),
    });
  });

  it('takes a repeated request with the call and the result of the tool', async () => {
    const calls = script(person);
    const messages = [
      { role: 'user', content: 'Who?' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'person', arguments: wrong } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'age is not a number' },
    ];
    await door.complete({ messages, tools, tool_choice: 'required' });
    expect(calls[0]?.request.messages).toMatchObject([
      { role: 'user', content: 'Who?' },
      { role: 'assistant', content: wrong },
      { role: 'user', content: 'age is not a number' },
    ]);
  });

  it.each([
    ['two tools', { tools: [...tools, ...tools], tool_choice: 'required' }],
    ['a tool that may be called', { tools, tool_choice: 'auto' }],
    ['a tool without a choice', { tools }],
    ['an allowed tool', { tools, tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto' } } }],
  ])('rejects %s by name', async (_, fields) => {
    expect(await door.rejection(fields)).toMatchObject({ param: 'tools' });
  });
});

describe('Bedrock', () => {
  it.each([
    ['eu.anthropic.claude-sonnet-4-5-20250929-v1:0', 'output_config'],
    ['eu.amazon.nova-lite-v1:0', 'json'],
  ])('gives %s the schema as %s', async (name, where) => {
    const other = await openTenant(service, { model: `bedrock:${name}`, titles: false });
    let body: unknown;
    bedrock.onCall = (call) => {
      body = call.body;
      if (where === 'json') call.callTools({ name: 'json', arguments: person });
      else call.chunk(person);
      call.finish();
    };
    expect(JSON.parse((await sendTo(other)).body.data)).toEqual({ name: 'Ann', age: 7 });
    expect(JSON.stringify(body)).toContain(where);
  });
});
