import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { StreamEvent } from '#contract/events.ts';
import { agentctlOf } from '#support/agentctl.ts';
import { clientOf } from '#support/client.ts';
import { closeAfterTests, temporaryFolder } from '#support/close-after-tests.ts';
import type { ModelCall } from '#support/scripted-model.ts';
import { createPublishedAgent, createTenant } from '#support/service.ts';
import { startWebServer } from '#support/tool-use.ts';
import { createChat, historyOf, send, stepThrough } from '#support/turns.ts';
import { useScriptedService } from '#support/use-service.ts';

const folder = await temporaryFolder('conversation-');
const web = closeAfterTests(
  await startWebServer((_request, response) =>
    response
      .writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' })
      .end('<title>Tides</title><p>High water is at nine.</p>'),
  ),
);
const { model, service } = await useScriptedService({
  variables: { OUTBOUND_ALLOW: `127.0.0.1:${web.port}` },
});
const tenant = await createTenant({ titles: false });
const client = clientOf(service, tenant);
const file = join(folder, 'harbour.md');
await writeFile(file, '# Harbour\n\nThe ferry leaves an hour after high water.\n');
await agentctlOf(service).json('knowledge', 'add', '--workspace', tenant.workspaceId, file);

// The called agent has no look-up tool, because the chat belongs to its caller.
it('searches documents and the history, reads a page and asks another agent, live, step by step', async () => {
  const captain = await createPublishedAgent(tenant.workspaceId, {
    name: 'Captain',
    llm_model: 'openai:captain',
    unified_tools: [{ type: 'consultant_lookup' }],
  });
  const agentId = await createPublishedAgent(tenant.workspaceId, {
    llm_model: 'openai:guide',
    // The model sees only the parts of the history that it looks up.
    meta: { max_history_characters: 0 },
    unified_tools: [
      { type: 'consultant_retrieve_context_source' },
      { type: 'consultant_lookup' },
      { type: 'consultant_fetch_web_content' },
      { type: 'consultant_call_agent', name: 'ask_captain', config: { agent_id: captain } },
    ],
  });
  const chatId = await createChat(client, { agentId });
  model.onCall = (call) => {
    call.chunk('Noted.');
    call.finish();
  };
  await send(client, { agentId }, chatId, 'My cabin is number 714, by the way.');

  const waiting: ModelCall[] = [];
  const arrived: ((call: ModelCall) => void)[] = [];
  model.onCall = (call) => {
    const taker = arrived.shift();
    if (taker === undefined) waiting.push(call);
    else taker(call);
  };
  const nextCall = (): Promise<ModelCall> => {
    const call = waiting.shift();
    return call === undefined ? new Promise((resolve) => arrived.push(resolve)) : Promise.resolve(call);
  };
  const message = 'When does my ferry leave, and is it safe?';
  const events = stepThrough(await client.stream(chatId, { message, agent_id: agentId }));
  expect(await events.next()).toMatchObject({ type: 'response.created' });

  const spent = { prompt_tokens: 0, completion_tokens: 0, calls: 0 };
  const finish = (call: ModelCall, prompt_tokens: number, completion_tokens: number): void => {
    spent.prompt_tokens += prompt_tokens;
    spent.completion_tokens += completion_tokens;
    spent.calls += 1;
    call.finish({ prompt_tokens, completion_tokens });
  };
  const stepOf = async (type: string): Promise<Extract<StreamEvent, { step: unknown }>['step']> => {
    const event = (await events.next()) as StreamEvent;
    if (event.type !== `response.reasoning_step.${type}` || !('step' in event))
      throw new Error(`Not the ${type} of a step: ${JSON.stringify(event)}`);
    return event.step;
  };
  const uses = [
    ['consultant_retrieve_context_source', { query: 'ferry leaves' }, 'an hour after high water'],
    ['consultant_lookup', { query: 'cabin number' }, 'number 714'],
    ['consultant_fetch_web_content', { url: `${web.url}/tides` }, 'High water is at nine.'],
  ] as const;
  const seen: string[] = [];
  for (const [index, [name, args, found]] of uses.entries()) {
    const call = await nextCall();
    call.callTools({ name, arguments: args });
    finish(call, 100 + index, 10 + index);
    const started = await stepOf('start');
    expect(started).toMatchObject({ type: name, args });
    const ended = await stepOf('end');
    expect(ended).toMatchObject({ id: started.id, type: name, result: { success: true } });
    expect(JSON.stringify(ended)).toContain(found);
    seen.push(started.id);
  }

  const sending = await nextCall();
  sending.callTools({ name: 'ask_captain', arguments: { message: 'Is it safe?' } });
  finish(sending, 103, 13);
  const started = await stepOf('start');
  seen.push(started.id);
  expect(started).toMatchObject({
    type: 'consultant_call_agent',
    args: { agent_id: captain, message: 'Is it safe?' },
  });
  const captainCall = await nextCall();
  expect(captainCall.request.model).toBe('captain');
  expect(captainCall.request).not.toHaveProperty('tools');
  captainCall.chunk('Calm sea.');
  finish(captainCall, 40, 4);
  expect(await stepOf('end')).toMatchObject({
    id: started.id,
    result: { success: true, data: { agent_name: 'Captain', reply: 'Calm sea.' } },
    token_usage: { total_prompt_tokens: 40, total_completion_tokens: 4, total_tokens: 44, total_calls: 1 },
  });

  const last = await nextCall();
  const shown = last.request.messages.filter(({ role }) => role === 'tool');
  expect(shown).toHaveLength(4);
  for (const { content } of shown)
    expect(content).toMatch(/^\{"notice":"[^"]*material[^"]*","success":true,"data":/);
  last.chunk('It leaves at ten, and the sea is calm.');
  expect(await events.next()).toMatchObject({
    type: 'response.output_text.delta',
    delta: 'It leaves at ten, and the sea is calm.',
  });
  finish(last, 104, 14);
  const usage = {
    total_prompt_tokens: spent.prompt_tokens,
    total_completion_tokens: spent.completion_tokens,
    total_tokens: spent.prompt_tokens + spent.completion_tokens,
    total_calls: spent.calls,
  };
  expect(usage.total_calls).toBe(6);
  expect(await events.next()).toMatchObject({ type: 'response.output_text.completed', usage });
  expect(await events.next()).toBe('[DONE]');

  const reply = (await historyOf(client, chatId)).at(-1);
  expect(reply?.content).toBe('It leaves at ten, and the sea is calm.');
  expect(reply?.meta.token_usage).toEqual(usage);
  expect(reply?.meta.reasoning_steps?.map(({ id }) => id)).toEqual(seen);
  for (const step of reply?.meta.reasoning_steps ?? []) {
    expect(step.result).toEqual({ success: true, data: expect.anything() });
    expect(Date.parse(step.ended_at ?? '')).toBeGreaterThanOrEqual(Date.parse(step.started_at));
  }
});
