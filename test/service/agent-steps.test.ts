import { beforeAll, describe, expect, it } from 'vitest';
import { agentDefinition } from '#contract/agent.ts';
import type { StreamEvent } from '#contract/events.ts';
import type { MessageResource } from '#contract/message.ts';
import { publishAgent, updateAgent } from '#domain/agents/agents.ts';
import type { Client } from '#support/client.ts';
import { type ModelCall, replyWith } from '#support/model-server.ts';
import { dataOf, type OpenTenant, openTenant } from '#support/open-tenant.ts';
import { type AgentFields, createPublishedAgent, operator } from '#support/service.ts';
import { createChat, historyOf, send, stepThrough } from '#support/turns.ts';
import { useScriptedService } from '#support/use-service.ts';

const { model, service, tenant, client } = await useScriptedService({
  variables: { STREAM_TIMEOUT_SECONDS: '2' },
  maxConcurrency: 3,
});

type Respond = (call: ModelCall) => void;

/** Scripts the model, call by call. A call that is not scripted fails. Returns the calls. */
function script(...responses: Respond[]): ModelCall[] {
  const calls: ModelCall[] = [];
  model.onCall = (call) => {
    const respond = responses[calls.push(call) - 1];
    if (respond === undefined) call.fail(400);
    else respond(call);
  };
  return calls;
}

const says =
  (text: string, usage = { prompt_tokens: 3, completion_tokens: 2 }): Respond =>
  (call) =>
    replyWith(call, text, usage);

const calls =
  (name: string, args: unknown): Respond =>
  (call) => {
    call.callTools({ name, arguments: args });
    call.finish({ prompt_tokens: 10, completion_tokens: 5 });
  };
const callAgent = calls('consultant_call_agent', { message: 'x' });

const agentWith = (fields: AgentFields): Promise<string> =>
  createPublishedAgent(tenant.workspaceId, { llm_model: 'openai:test', ...fields });

/** An agent that asks another one. */
const askerOf = (agent_id: string, fields: AgentFields = {}): Promise<string> =>
  agentWith({ unified_tools: [{ type: 'consultant_call_agent', config: { agent_id } }], ...fields });

/** Streams the reply of an agent in a new chat, and reads its history. */
async function reply(agentId: string, message = 'go') {
  const chatId = await createChat(client, { agentId });
  const events = await streamedReply(client, agentId, chatId, message);
  const history = await historyOf(client, chatId);
  return { chatId, events, history, meta: history.at(-1)?.meta as MessageResource['meta'] };
}

const streamedReply = async (by: Client, agentId: string, chatId: number, message: string) =>
  (await by.stream(chatId, { message, agent_id: agentId })).all();

const typesOf = (events: (StreamEvent | '[DONE]' | undefined)[]) =>
  events.map((event) => (typeof event === 'object' ? event.type.replace('response.', '') : event));

/** The types of a reply without steps. */
const textAlone = ['created', 'output_text.delta', 'output_text.completed', '[DONE]'];
const stepsOf = (events: (StreamEvent | '[DONE]')[]) =>
  events.flatMap((event) => (event !== '[DONE]' && 'step' in event ? [event.step] : []));

describe('an agent that asks another', () => {
  it('shows the step live, gives the answer to the model, and counts the tokens of both', async () => {
    const expert = await agentWith({ name: 'Expert', system_prompt: 'You know it.' });
    const agentId = await agentWith({
      unified_tools: [{ type: 'consultant_call_agent', name: 'ask_expert', config: { agent_id: expert } }],
    });
    const chatId = await createChat(client, { agentId });
    const checkpoint = Promise.withResolvers<ModelCall>();
    const modelCalls = script(
      (call) => {
        call.chunk('Let me ask.');
        calls('ask_expert', { message: 'What is it?' })(call);
      },
      checkpoint.resolve,
      says('It is 42.'),
    );
    const events = stepThrough(await client.stream(chatId, { message: 'go', agent_id: agentId }));
    const received = [await events.next(), await events.next(), await events.next()];
    expect(typesOf(received)).toEqual(['created', 'output_text.delta', 'reasoning_step.start']);
    // The client sees the start of the step before the other agent's model has sent any text.
    says('Forty-two', { prompt_tokens: 100, completion_tokens: 50 })(await checkpoint.promise);
    const rest = await events.rest();
    expect(typesOf(rest)).toEqual([
      'reasoning_step.end',
      'output_text.delta',
      'output_text.completed',
      '[DONE]',
    ]);
    const usageOf = (prompt: number, completion: number, total_calls: number) => ({
      ...{ total_prompt_tokens: prompt, total_completion_tokens: completion },
      ...{ total_tokens: prompt + completion, total_calls },
    });
    const usage = usageOf(113, 57, 3);
    const step = {
      type: 'consultant_call_agent',
      result: { success: true, data: { agent_id: expert, agent_name: 'Expert', reply: 'Forty-two' } },
      token_usage: usageOf(100, 50, 1),
    };
    expect(received[2]).toMatchObject({
      step: { type: step.type, args: { agent_id: expert, message: 'What is it?' } },
    });
    expect(rest[0]).toMatchObject({ step });
    expect(rest[2]).toMatchObject({ final_text: 'Let me ask.\n\nIt is 42.', usage });

    const [, stored] = await historyOf(client, chatId);
    expect(stored).toMatchObject({
      content: 'Let me ask.\n\nIt is 42.',
      meta: { token_usage: usage, reasoning_steps: [step] },
    });
    expect(modelCalls[1]?.request.messages).toEqual([
      { role: 'system', content: 'You know it.' },
      { role: 'user', content: 'What is it?' },
    ]);
    expect(JSON.parse(modelCalls[2]?.request.messages.at(-1)?.content ?? '')).toEqual({
      notice: expect.stringContaining('material'),
      ...step.result,
    });
  });

  it('never goes round in circles', async () => {
    const first = await agentWith({});
    const second = await askerOf(first);
    const definition = agentDefinition.parse({
      name: 'First',
      llm_model: 'openai:test',
      unified_tools: [{ type: 'consultant_call_agent', config: { agent_id: second } }],
    });
    await updateAgent(operator(), { agentId: first, definition });
    await publishAgent(operator(), first);
    script(
      calls('consultant_call_agent', { message: 'a' }),
      calls('consultant_call_agent', { message: 'b' }),
      says('then not'),
      says('fine'),
    );
    const { events, meta } = await reply(first);
    expect(meta.reasoning_steps?.map(({ result }) => result)).toMatchObject([
      { success: true, data: { reply: 'then not' } },
      { success: false, data: { message: expect.stringContaining('circle') } },
    ]);
    expect(events.at(-2)).toMatchObject({ type: 'response.output_text.completed', final_text: 'fine' });
  });

  it('goes three deep and no deeper', async () => {
    let agentId = await agentWith({ name: 'Last' });
    for (let level = 0; level < 4; level += 1) agentId = await askerOf(agentId);
    const deeper = calls('consultant_call_agent', { message: 'deeper' });
    script(deeper, deeper, deeper, deeper, says('3'), says('2'), says('1'), says('0'));
    const { meta } = await reply(agentId);
    expect(meta.reasoning_steps?.map(({ result }) => result)).toMatchObject([
      { success: true, data: { reply: '1' } },
      { success: true, data: { reply: '2' } },
      { success: true, data: { reply: '3' } },
      { success: false, data: { message: 'Agents can call each other at most 3 deep' } },
    ]);
  });

  const left = Promise.withResolvers<void>();
  it.each([
    ['is not published', undefined, 'The other agent is not published'],
    ['fails', (call: ModelCall) => call.fail(400), 'The model refused the request'],
    ['is cut', (call: ModelCall) => call.cut('content_filter'), 'The reply was cut by'],
    ['says nothing', (call: ModelCall) => call.finish(), 'The model gave an empty reply'],
    ['takes too long', (call: ModelCall) => void call.gone.then(left.resolve), 'It took longer than'],
  ])('goes on when the other one %s', async (_, respond, message) => {
    const other = respond === undefined ? crypto.randomUUID() : await agentWith({});
    const agentId = await askerOf(other);
    script(...(respond === undefined ? [callAgent] : [callAgent, respond]), says('Without it, then.'));
    const { events, meta } = await reply(agentId);
    expect(meta.reasoning_steps).toMatchObject([
      { result: { success: false, data: { message: expect.stringContaining(message) } } },
    ]);
    expect(events.at(-2)).toMatchObject({ final_text: 'Without it, then.' });
    expect(meta).not.toHaveProperty('error');
    if (message.startsWith('It took')) await left.promise;
  });
});

const formTool = { type: 'consultant_request_form' } as const;

describe('a form', () => {
  const form = { title: 'Your address', fields: [{ name: 'street', label: 'Street', type: 'text' }] };

  it('reaches the client as the args of its step, and the next message answers it', async () => {
    const agentId = await agentWith({ unified_tools: [formTool] });
    const first = script(calls('consultant_request_form', form), says('Please fill it in.'));
    const { chatId, events } = await reply(agentId, 'send me a parcel');
    expect(stepsOf(events)[0]).toMatchObject({
      type: 'consultant_request_form',
      content: 'Asking for: Your address',
      args: { title: 'Your address', fields: [{ name: 'street', label: 'Street', required: false }] },
    });
    expect(first[1]?.request, 'after a form the model may only speak').not.toHaveProperty('tools');

    const second = script(says('It is on its way.'));
    await send(client, { agentId }, chatId, '{"street":"Elm Street 1"}');
    expect(second[0]?.request.messages).toMatchObject([
      { role: 'user', content: 'send me a parcel' },
      {
        role: 'assistant',
        tool_calls: [{ type: 'function', function: { name: 'consultant_request_form' } }],
      },
      { role: 'tool' },
      { role: 'assistant', content: 'Please fill it in.' },
      { role: 'user', content: '{"street":"Elm Street 1"}' },
    ]);
  });

  it('may be all that a reply has', async () => {
    const agentId = await agentWith({ unified_tools: [formTool] });
    script(calls('consultant_request_form', form), (call) => call.finish());
    const { events, meta } = await reply(agentId);
    expect(events.at(-2)).toMatchObject({ type: 'response.output_text.completed', final_text: '' });
    expect(meta).not.toHaveProperty('error');
  });
});

describe('what a model gets wrong', () => {
  const wrong: [string, unknown, Record<string, unknown>][] = [
    ['broken JSON', '{"title": "x", ', {}],
    ['text', 'please', {}],
    ['a wrong type', { title: 5, fields: 'none' }, { title: 5, fields: 'none' }],
    ['a list', [1], {}],
  ];
  it.each(wrong)('arguments: %s', async (_, args, shown) => {
    const agentId = await agentWith({ unified_tools: [formTool] });
    const made = script(calls('consultant_request_form', args), says('Never mind.'));
    const { events, meta } = await reply(agentId);
    expect(stepsOf(events)).toMatchObject([
      { type: 'consultant_request_form', args: shown },
      { result: { success: false, data: { message: 'The arguments do not fit this tool' } } },
    ]);
    expect(events.at(-2)).toMatchObject({ final_text: 'Never mind.' });
    expect(meta).not.toHaveProperty('error');
    expect(made[1]?.request.messages.at(-1)?.role).toBe('tool');
  });

  it('a tool that there is not: the model is told, and nothing began', async () => {
    const agentId = await agentWith({ unified_tools: [formTool] });
    const made = script(calls('launch_rocket', {}), says('I cannot.'));
    const { events } = await reply(agentId);
    expect(typesOf(events)).toEqual(textAlone);
    expect(made[1]?.request.messages.at(-1)).toMatchObject({ role: 'tool' });
  });

  it('tools for ever: the last step must be an answer, and what is none is an error', async () => {
    const other = await agentWith({});
    const agentId = await askerOf(other, { meta: { max_steps: 2 } });
    const made = script(callAgent, says('a'), callAgent, says('b'));
    const { events, meta } = await reply(agentId);
    expect(made[2]?.request).not.toHaveProperty('tools');
    // The results of tools are sent as text: some servers reject tool results in a request without tools.
    expect(made[2]?.request.messages).toEqual([
      { role: 'user', content: expect.stringMatching(/^go\n\nThe tool consultant_call_agent answered: \{/) },
    ]);
    expect(events.at(-2)).toMatchObject({
      type: 'response.error',
      code: 10005,
      message: 'The agent reached its limit of 2 steps',
    });
    expect(meta.error).toEqual({ code: 10005, message: 'The agent reached its limit of 2 steps' });
    expect(meta.token_usage?.total_calls).toBe(3);
  });

  it('a failure behind a step keeps the step, the text and the tokens', async () => {
    const other = await agentWith({});
    const agentId = await askerOf(other);
    script(
      (call) => {
        call.chunk('I ask.');
        callAgent(call);
      },
      says('answer'),
      (call) => call.fail(400),
    );
    const { events, meta, history } = await reply(agentId);
    expect(typesOf(events).slice(-3)).toEqual(['reasoning_step.end', 'error', '[DONE]']);
    expect(history.at(-1)?.content).toBe('I ask.');
    expect(meta).toMatchObject({
      reasoning_steps: [{ result: { success: true } }],
      token_usage: { total_calls: 2, total_tokens: 20 },
      error: { message: 'The model refused the request' },
    });
  });
});

describe('titles', () => {
  let titled: OpenTenant;
  beforeAll(async () => {
    titled = await openTenant(service, { model: 'openai:test' });
  });
  const createTitled = async () => (await titled.createChat({ name: 'Chat' })).id;
  const stream = (chatId: number, message = 'x') =>
    streamedReply(titled.client, titled.agentId, chatId, message);
  const nameOf = async (id: number) => dataOf(await titled.client.get<{ name: string }>(`/chats/${id}`)).name;

  it('are made by the model beside the first reply, stored, and told', async () => {
    model.onPlainCall = (call) => replyWith(call, '"Planning a trip to the sea"\n');
    script(says('Sure.'), says('Yes.'));
    const chatId = await createTitled();
    const name = 'Planning a trip to the sea';
    expect(await stream(chatId, 'I want to go to the sea')).toContainEqual(
      expect.objectContaining({ type: 'response.chat.title.updated', name }),
    );
    expect(await nameOf(chatId)).toBe(name);
    expect(model.plainCalls.at(-1)?.request.messages.at(-1)?.content).toContain('I want to go to the sea');
    expect(typesOf(await stream(chatId))).not.toContain('chat.title.updated');
  });

  it.each([
    ['fail', (call: ModelCall) => call.fail(400)],
    ['never come', () => undefined],
  ])(
    'that %s leave the chat its name, and hold the reply up for no more than two seconds',
    async (_, respond) => {
      const left = Promise.withResolvers<void>();
      model.onPlainCall = (call) => {
        respond(call);
        void call.gone.then(left.resolve);
      };
      script(says('Sure.'));
      const chatId = await createTitled();
      const started = performance.now();
      expect(typesOf(await stream(chatId))).toEqual(textAlone);
      expect(performance.now() - started).toBeLessThan(6000);
      expect(await nameOf(chatId)).toBe('Chat');
      await left.promise;
    },
  );

  it('are begun with the first text', async () => {
    const { promise: called, resolve } = Promise.withResolvers<ModelCall>();
    const { promise: titleCall, resolve: onTitleCall } = Promise.withResolvers<ModelCall>();
    model.onPlainCall = onTitleCall;
    script(resolve);
    const before = model.plainCalls.length;
    const chatId = await createTitled();
    const events = stepThrough(
      await titled.client.stream(chatId, { message: 'x', agent_id: titled.agentId }),
    );
    await events.next();
    const call = await called;
    call.reason('Hmm');
    expect(model.plainCalls).toHaveLength(before);
    call.chunk('Sure.');
    says('Sure things')(await titleCall);
    expect(typesOf([await events.next(), await events.next()])).toEqual([
      'output_text.delta',
      'chat.title.updated',
    ]);
    call.finish();
    expect(typesOf(await events.rest())).toEqual(['output_text.completed', '[DONE]']);
    expect(await nameOf(chatId)).toBe('Sure things');
  });

  it('hold up no JSON answer', async () => {
    const order: string[] = [];
    const { promise: titleCall, resolve: onCall } = Promise.withResolvers<ModelCall>();
    model.onPlainCall = onCall;
    script(says('Sure.'));
    const chatId = await createTitled();
    const response = send(titled.client, titled, chatId, 'x');
    const left = (await titleCall).gone.then(() => order.push('given up'));
    expect((await response).body.data).toBe('Sure.');
    order.push('answered');
    await left;
    expect(order).toEqual(['answered', 'given up']);
  });
});
