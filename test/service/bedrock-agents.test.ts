import { describe, expect, it } from 'vitest';
import type { StreamEvent } from '#contract/events.ts';
import { checkAgent } from '#runtime/composition/check-agent.ts';
import { usage } from '#runtime/composition/services.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import type { ModelCall } from '#support/model-server.ts';
import { openTenant } from '#support/open-tenant.ts';
import { startScriptedBedrock } from '#support/scripted-bedrock.ts';
import {
  callsTool,
  form,
  formTool,
  replyIn,
  says,
  scriptCalls,
  streamedReply,
} from '#support/scripted-steps.ts';
import { type AgentFields, createPublishedAgent } from '#support/service.ts';
import { send } from '#support/turns.ts';
import { useScriptedService } from '#support/use-service.ts';

const llm_model = 'bedrock:eu.amazon.nova-lite-v1:0';

const bedrock = closeAfterTests(await startScriptedBedrock());
const {
  model: openai,
  service,
  tenant,
  client,
} = await useScriptedService(
  { variables: { AWS_ENDPOINT_URL_BEDROCK_RUNTIME: bedrock.url } },
  { model: llm_model },
);

const script = (...responses: ((call: ModelCall) => void)[]) => scriptCalls(bedrock, ...responses);
const agentWith = (fields: AgentFields): Promise<string> =>
  createPublishedAgent(tenant.workspaceId, { llm_model, ...fields });
const reply = (agentId: string, message?: string) => replyIn(client, agentId, message);

it('is asked as its agent says: profile, system prompt, bounds, signed for the role', async () => {
  const agentId = await agentWith({
    system_prompt: 'Be brief.',
    meta: { temperature: 0.2, max_output_tokens: 64 },
  });
  const calls = script(says('Yes.'));
  const { events, meta } = await reply(agentId, 'Well?');
  expect(events.at(-2)).toMatchObject({ final_text: 'Yes.', usage: { total_tokens: 18, total_calls: 1 } });
  expect(meta).toMatchObject({ token_usage: { total_prompt_tokens: 11, total_completion_tokens: 7 } });
  expect(calls[0]?.request).toMatchObject({
    model: 'eu.amazon.nova-lite-v1:0',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Well?' },
    ],
  });
  expect(calls[0]?.body).toMatchObject({ inferenceConfig: { maxTokens: 64, temperature: 0.2 } });
  expect(calls[0]?.headers).toHaveProperty('x-amz-security-token');
});

it('makes titles, with a call that is not streamed', async () => {
  const { client: titled, agentId } = await openTenant(service, { model: llm_model });
  bedrock.onPlainCall = says('All about fish');
  script(says('Fish swim.'));
  const { events } = await replyIn(titled, agentId, 'Fish?');
  expect(events).toContainEqual(
    expect.objectContaining({ type: 'response.chat.title.updated', name: 'All about fish' }),
  );
});

describe('with tools', () => {
  it('gets several results at once, and its thoughts stay its own', async () => {
    const expert = await agentWith({ name: 'Expert' });
    const agentId = await agentWith({
      unified_tools: [{ type: 'consultant_call_agent', name: 'ask_expert', config: { agent_id: expert } }],
    });
    const received: ModelCall[] = [];
    bedrock.onCall = (call) => {
      received.push(call);
      const last = call.request.messages.at(-1);
      if (last?.content === 'go') {
        call.reason('I had better ask twice');
        call.chunk('Let me ask.');
        call.callTools(
          { name: 'ask_expert', arguments: { message: 'one?' } },
          { name: 'ask_expert', arguments: { message: 'two?' } },
        );
        call.finish();
      } else if (last?.role === 'tool') says('Both are fine.')(call);
      else says(`About ${last?.content}`)(call);
    };
    const { events, meta } = await reply(agentId);
    expect(meta?.reasoning_steps?.map(({ result }) => result?.data)).toMatchObject([
      { reply: 'About one?' },
      { reply: 'About two?' },
    ]);
    expect(events.at(-2)).toMatchObject({
      final_text: 'Let me ask.\n\nBoth are fine.',
      usage: { total_calls: 4, total_tokens: 72 },
    });
    expect(JSON.stringify(events)).not.toContain('I had better');
    expect(received.at(-1)?.request.messages).toMatchObject([
      { role: 'user', content: 'go' },
      { role: 'assistant', content: 'Let me ask.', tool_calls: [{ id: 'call_0' }, { id: 'call_1' }] },
      { role: 'tool', tool_call_id: 'call_0', content: expect.stringContaining('About one?') },
      { role: 'tool', tool_call_id: 'call_1', content: expect.stringContaining('About two?') },
    ]);
  });

  it('knows what its tools have found when it may use none any more', async () => {
    const agentId = await agentWith({ unified_tools: [formTool], meta: { max_steps: 2 } });
    const calls = script(callsTool('launch_rocket', {}), says('I cannot.'));
    const { events } = await reply(agentId);
    expect(events.at(-2)).toMatchObject({ final_text: 'I cannot.' });
    const content = [
      { text: 'go' },
      { text: expect.stringContaining('The tool launch_rocket answered: ') },
      { cachePoint: { type: 'default' } },
    ];
    expect(calls[1]?.body).toMatchObject({ messages: [{ role: 'user', content }] });
    expect(calls[1]?.body).not.toHaveProperty('toolConfig');
  });

  it('may answer with a form alone, and goes on with what the user fills in', async () => {
    const agentId = await agentWith({ unified_tools: [formTool] });
    script(callsTool('consultant_request_form', form), (call) => call.finish());
    const { chatId, events } = await reply(agentId, 'send me a parcel');
    expect(events.at(-2)).toMatchObject({ type: 'response.output_text.completed', final_text: '' });
    const next = script(says('It is on its way.'));
    const respond = await send(client, { agentId }, chatId, '{"street":"Elm Street 1"}');
    expect(respond.body.data).toBe('It is on its way.');
    expect(next[0]?.request.messages).toMatchObject([
      { role: 'user', content: 'send me a parcel' },
      { role: 'assistant', tool_calls: [{ function: { name: 'consultant_request_form' } }] },
      { role: 'tool' },
      { role: 'user', content: '{"street":"Elm Street 1"}' },
    ]);
  });

  it.each([
    ['broken JSON', '{"title": "x", '],
    ['a wrong type', { title: 5 }],
  ])('is told when its arguments are %s', async (_, args) => {
    const agentId = await agentWith({ unified_tools: [formTool] });
    const calls = script(callsTool('consultant_request_form', args), says('Never mind.'));
    const { events, meta } = await reply(agentId);
    expect(meta?.reasoning_steps).toMatchObject([{ result: { success: false } }]);
    expect(events.at(-2)).toMatchObject({ final_text: 'Never mind.' });
    expect(calls[1]?.request.messages.at(-1)).toMatchObject({ role: 'tool', tool_call_id: 'call_0' });
  });
});

const today = new Date().toISOString().slice(0, 10);
const fallback = llm_model;

/** Each test has a model of its own, because a model that has failed is not called for ten seconds. */
let models = 0;

/** A send to an agent whose first model behaves so, and whose fallback model responds. */
async function sendTo(first: (call: ModelCall) => void) {
  models += 1;
  const name = `openai:gpt-5-mini-${models}`;
  const tenant = await openTenant(service, {
    ...{ model: name, titles: false },
    agent: { meta: { fallback_models: [fallback] } },
  });
  const called: string[] = [];
  openai.onCall = (call) => {
    called.push('first');
    first(call);
  };
  bedrock.onCall = (call) => {
    called.push('fallback');
    says('Here I am')(call);
  };
  const { id } = await tenant.createChat();
  const retry = async () =>
    (await streamedReply(tenant.client, tenant.agentId, id, 'Hello')) as StreamEvent[];
  const events = await retry();
  const used = async () => {
    const days = (await Array.fromAsync(usage().between(tenant.workspaceId, today, today))).flat();
    return Object.fromEntries(
      days.flatMap(({ models }) => Object.entries(models)).map(([key, { calls }]) => [key, calls]),
    );
  };
  return { events, called, retry, used, name };
}

describe('a model that is busy or unavailable before its first output', () => {
  it.each<[string, (call: ModelCall) => void]>([
    ['429', (call) => call.fail(429)],
    ['503', (call) => call.fail(503)],
    ['a reset', (call) => call.reset()],
    ['an error part first', (call) => call.failInStream('overloaded')],
  ])('is replaced by the next one after two attempts: %s', async (_, fails) => {
    const { events, called, used } = await sendTo(fails);
    expect(called).toEqual(['first', 'first', 'fallback']);
    expect(events.at(-2)).toMatchObject({
      ...{ type: 'response.output_text.completed', final_text: 'Here I am', model: fallback },
      usage: { total_calls: 1 },
    });
    await expect.poll(used).toEqual({ [fallback]: 1 });
  });

  it('is not called again for ten seconds', async () => {
    const { called, retry } = await sendTo((call) => call.fail(503));
    expect((await retry()).at(-2)).toMatchObject({ model: fallback });
    expect(called).toEqual(['first', 'first', 'fallback', 'fallback']);
  });
});

describe('a model that fails otherwise is not replaced:', () => {
  it.each<[string, (call: ModelCall) => void]>([
    ['a wrong request', (call) => call.fail(400)],
    ['a wrong key', (call) => call.fail(401)],
    ['a model that is gone', (call) => call.fail(404)],
    [
      'a cut in the middle',
      (call) => {
        call.chunk('Here');
        call.end();
      },
    ],
    ['a filter', (call) => call.cut('content_filter')],
  ])('%s', async (_, fails) => {
    const { events, called } = await sendTo(fails);
    expect(called).toEqual(['first']);
    expect(events.some(({ type }) => type === 'response.error')).toBe(true);
  });
});

it('the event has no model if that of the agent has replied', async () => {
  const { events, used, name } = await sendTo(says('Hello'));
  expect(events.at(-2)).not.toHaveProperty('model');
  await expect.poll(used).toEqual({ [name]: 1 });
});

it('is refused at publish if it is unknown, repeated, or lacks images', async () => {
  const { workspaceId } = await openTenant(service, { titles: false });
  const { mistakes } = await checkAgent(workspaceId, {
    ...{ name: 'Guide', llm_model: 'openai:gpt-5-mini' },
    meta: { fallback_models: ['other:x', 'openai:gpt-5-mini', 'openai:own'] },
  });
  expect(mistakes).toEqual([
    expect.stringContaining('meta.fallback_models[0] names the unknown provider other'),
    'meta.fallback_models[1] is the same model again',
    expect.stringContaining('meta.fallback_models[2] accepts no images'),
  ]);
});
