import { describe, expect, it } from 'vitest';
import { clientOf } from '#support/client.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { type ModelCall, replyWith } from '#support/model-server.ts';
import { startScriptedBedrock } from '#support/scripted-bedrock.ts';
import { type AgentFields, createPublishedAgent, createTenant } from '#support/service.ts';
import { createChat, historyOf, send } from '#support/turns.ts';
import { useService } from '#support/use-service.ts';

const llm_model = 'bedrock:eu.amazon.nova-lite-v1:0';

const model = closeAfterTests(await startScriptedBedrock());
const service = await useService({ variables: { AWS_ENDPOINT_URL_BEDROCK_RUNTIME: model.url } });
const tenant = await createTenant({ model: llm_model, titles: false });
const client = clientOf(service, tenant);

/** Scripts the model, call by call. */
function script(...responses: ((call: ModelCall) => void)[]): ModelCall[] {
  const calls: ModelCall[] = [];
  model.onCall = (call) => {
    const respond = responses[calls.push(call) - 1];
    if (respond === undefined) call.fail(400);
    else respond(call);
  };
  return calls;
}

const says = (text: string) => (call: ModelCall) => replyWith(call, text);

const agentWith = (fields: AgentFields): Promise<string> =>
  createPublishedAgent(tenant.workspaceId, { llm_model, ...fields });

async function reply(agentId: string, message = 'go') {
  const chatId = await createChat(client, { agentId });
  const events = await (await client.stream(chatId, { message, agent_id: agentId })).all();
  const history = await historyOf(client, chatId);
  return { chatId, events, meta: history.at(-1)?.meta };
}

const formTool = { type: 'consultant_request_form' };
const form = { title: 'Your address', fields: [{ name: 'street', label: 'Street', type: 'text' }] };

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
  const titled = await createTenant({ model: llm_model });
  const titledClient = clientOf(service, titled);
  const chatId = await createChat(titledClient, titled);
  const { onPlainCall } = model;
  model.onPlainCall = says('All about fish');
  script(says('Fish swim.'));
  const events = await (
    await titledClient.stream(chatId, { message: 'Fish?', agent_id: titled.agentId })
  ).all();
  model.onPlainCall = onPlainCall;
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
    model.onCall = (call) => {
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
    const calls = script((call) => {
      call.callTools({ name: 'launch_rocket', arguments: {} });
      call.finish();
    }, says('I cannot.'));
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
    script(
      (call) => {
        call.callTools({ name: 'consultant_request_form', arguments: form });
        call.finish();
      },
      (call) => call.finish(),
    );
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
    const calls = script((call) => {
      call.callTools({ name: 'consultant_request_form', arguments: args });
      call.finish();
    }, says('Never mind.'));
    const { events, meta } = await reply(agentId);
    expect(meta?.reasoning_steps).toMatchObject([{ result: { success: false } }]);
    expect(events.at(-2)).toMatchObject({ final_text: 'Never mind.' });
    expect(calls[1]?.request.messages.at(-1)).toMatchObject({ role: 'tool', tool_call_id: 'call_0' });
  });
});
