import { expect, test } from 'vitest';
import { ChatBatchClient, toUIMessageStream, type UIMessageChunk } from '#lib/client/index.ts';
import type { ModelCall } from '#support/scripted-model.ts';
import { createPublishedAgent, createTenant } from '#support/service.ts';
import { useScriptedService } from '#support/use-service.ts';

const { service, tenant, model, callFor } = await useScriptedService(undefined, { titles: true });
const scripted = ['Work', 'Break', 'Go on'];
const takeScripted = model.onCall;
/** Takes the call after the results of tools. */
const afterTools = Promise.withResolvers<ModelCall>();
model.onCall = (call) => {
  const { role, content } = call.request.messages.at(-1) ?? {};
  if (role === 'tool') return afterTools.resolve(call);
  if (scripted.includes(String(content))) return takeScripted(call);
  // A call of the expert, or for a title.
  call.chunk('Expert');
  call.finish();
};
const client = new ChatBatchClient({ baseUrl: service.baseUrl, apiKey: tenant.apiKey, maxRetries: 0 });
const agent_id = await createPublishedAgent(tenant.workspaceId, {
  name: 'With a tool',
  llm_model: model.sharedName,
  unified_tools: [{ type: 'consultant_call_agent', name: 'expert', config: { agent_id: tenant.agentId } }],
});

async function streamTo(message: string, fields: Record<string, unknown> = {}) {
  const chat = await client.chats.create({ name: 'A chat', agent_id });
  const reply = client.messages.stream(chat.id, { message, agent_id, ...fields });
  return { chat, reply, stream: toUIMessageStream(reply) };
}

/** The chunks in one line each, without the title, which comes at any time. */
const summaries = (chunks: UIMessageChunk[]): string[] =>
  chunks
    .filter(({ type }) => type !== 'data-chat-title')
    .map((chunk) => {
      if (chunk.type === 'text-delta') return `${chunk.id}: ${chunk.delta}`;
      if (chunk.type === 'data-agent-step')
        return `step ${chunk.data.ended_at === null ? 'started' : 'ended'}`;
      return chunk.type;
    });

test('a rejection by a limit is the error of the page', async () => {
  const { apiKey, agentId } = await createTenant({ limits: { modelCalls: '1/d' } });
  const limited = new ChatBatchClient({ baseUrl: service.baseUrl, apiKey });
  const chat = await limited.chats.create({ name: 'A chat', agent_id: agentId });
  const send = () => limited.messages.stream(chat.id, { message: 'Hello', agent_id: agentId });
  await send().finalMessage();
  const [chunk, ...others] = await Array.fromAsync(toUIMessageStream(send()));
  expect(others).toEqual([]);
  expect(chunk).toEqual({
    type: 'error',
    errorText: expect.stringMatching(
      /^Rate limit exceeded: model calls are limited to 1\/d, try again in \d+ s/,
    ),
  });
});

test('a text ends before a step, and not at a title', async () => {
  const [called, { chat, stream }] = [callFor('Work'), await streamTo('Work')];
  const reader = stream.getReader();
  const chunks: UIMessageChunk[] = [];
  const readUntil = async (type?: UIMessageChunk['type']) => {
    for (let found = false; !found; ) {
      const { value, done } = await reader.read();
      if (value !== undefined) chunks.push(value);
      found = done || value?.type === type;
    }
  };
  const first = await called;
  first.chunk('I look. ');
  first.callTools({ name: 'expert', arguments: { message: 'Help' } });
  first.finish();
  const last = await afterTools.promise;
  last.chunk('One ');
  await readUntil('data-chat-title');
  last.chunk('two');
  last.finish();
  await readUntil();
  expect(summaries(chunks)).toEqual([
    'start',
    ...['text-start', 'text-1: I look. ', 'text-end'],
    ...['step started', 'step ended'],
    ...['text-start', 'text-2: One ', 'text-2: two', 'text-end'],
    'finish',
  ]);
  expect(chunks.at(0)).toMatchObject({ messageMetadata: { chatId: chat.id, messageId: expect.any(Number) } });
  expect(chunks.at(-1)).toMatchObject({
    finishReason: 'stop',
    messageMetadata: { usage: { total_calls: 3 } },
  });
});

test('a reply that fails, and a send that is rejected, are an error', async () => {
  const [called, { stream }] = [callFor('Break'), await streamTo('Break')];
  const call = await called;
  call.chunk('Half');
  call.failInStream('server error');
  const chunks = await Array.fromAsync(stream);
  expect(summaries(chunks)).toEqual(['start', 'text-start', 'text-1: Half', 'text-end', 'error']);
  expect(chunks.at(-1)).toMatchObject({ errorText: 'The model cannot be reached: try again later' });
  const rejected = await streamTo('Nobody', { agent_id: crypto.randomUUID() });
  expect(await Array.fromAsync(rejected.stream)).toEqual([{ type: 'error', errorText: 'Agent not found' }]);
});

test('a page that goes away leaves the reply to the service', async () => {
  const [called, { chat, stream }] = [callFor('Go on'), await streamTo('Go on')];
  const call = await called;
  call.chunk('Half');
  const reader = stream.getReader();
  for (let type = ''; type !== 'text-delta'; ) type = String((await reader.read()).value?.type);
  void reader.cancel();
  call.chunk(' and half');
  call.finish();
  const contents = async () =>
    (await client.messages.list(chat.id, { external_user_id: 'ada' })).data.map(({ content }) => content);
  await expect.poll(contents).toEqual(['Go on', 'Half and half']);
});
