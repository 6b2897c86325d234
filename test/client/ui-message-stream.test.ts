import { expect, test } from 'vitest';
import {
  ChatBatchClient,
  ChatBatchError,
  toSendParams,
  toUIFilePart,
  toUIMessageStream,
  toUIMessages,
  type UIMessageChunk,
} from '#lib/client/index.ts';
import type { ModelCall } from '#support/scripted-model.ts';
import { createPublishedAgent, createTenant } from '#support/service.ts';
import { useScriptedService } from '#support/use-service.ts';

const { service, tenant, model, callFor } = await useScriptedService(undefined, { titles: true });
const scripted = ['Work', 'Break', 'Stop me', 'Go on'];
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

async function uiHistoryOf(chatId: number) {
  const { data } = await client.messages.list(chatId, { external_user_id: 'ada' });
  return toUIMessages(data);
}

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
  const steps = chunks.filter(({ type }) => type === 'data-agent-step');
  const [start, finish] = [chunks.at(0), chunks.at(-1)] as [
    UIMessageChunk & { type: 'start' },
    UIMessageChunk & { type: 'finish' },
  ];
  expect(await uiHistoryOf(chat.id)).toEqual([
    {
      ...{ id: expect.any(String), role: 'user', parts: [{ type: 'text', text: 'Work' }] },
      metadata: { messageId: expect.any(Number) },
    },
    {
      ...{ id: start.messageId, role: 'assistant' },
      parts: [steps.at(-1), { type: 'text', text: 'I look. One two' }],
      metadata: { messageId: Number(start.messageId), usage: finish.messageMetadata.usage },
    },
  ]);
});

test.concurrent('a file of a message is sent, and is in the history', async () => {
  const chat = await client.chats.create({ name: 'A chat', agent_id });
  const part = toUIFilePart(await client.files.upload(new File(['Notes'], 'notes.txt')));
  const parts = [part, { type: 'text', text: 'Two\n' }, { type: 'text', text: 'lines' }];
  const params = toSendParams({ parts });
  expect(params).toEqual({
    message: 'Two\nlines',
    attached_file_uuids: [part.providerReference['chat-batch']],
  });
  await client.messages.send(chat.id, { ...params, agent_id });
  const [sent] = await uiHistoryOf(chat.id);
  expect(sent?.parts).toEqual([
    { ...part, mediaType: 'text/plain', filename: 'notes.txt', url: expect.stringMatching(/^http/) },
    { type: 'text', text: 'Two\nlines' },
  ]);
  expect(toSendParams({ parts: [{ type: 'text', text: 'Alone' }] })).toEqual({
    message: 'Alone',
    attached_file_uuids: [],
  });
  expect(() => toSendParams({ parts: [{ type: 'file' }] })).toThrow(ChatBatchError);
});

test.concurrent('a reply that fails, and a send that is rejected, are an error', async () => {
  const [called, { chat, stream }] = [callFor('Break'), await streamTo('Break')];
  const call = await called;
  call.chunk('Half');
  call.failInStream('server error');
  const chunks = await Array.fromAsync(stream);
  expect(summaries(chunks)).toEqual(['start', 'text-start', 'text-1: Half', 'text-end', 'error']);
  const message = 'The model cannot be reached: try again later';
  expect(chunks.at(-1)).toMatchObject({ errorText: message });
  const [, failed] = await uiHistoryOf(chat.id);
  expect(failed?.parts).toEqual([{ type: 'text', text: 'Half' }]);
  expect(failed?.metadata).toMatchObject({ error: { code: 10005, message } });
  const rejected = await streamTo('Nobody', { agent_id: crypto.randomUUID() });
  expect(await Array.fromAsync(rejected.stream)).toEqual([{ type: 'error', errorText: 'Agent not found' }]);
});

test.concurrent('a reply that was stopped says so, in its stream and in the history', async () => {
  const [called, { chat, reply, stream }] = [callFor('Stop me'), await streamTo('Stop me')];
  const reading = Array.fromAsync(stream);
  (await called).chunk('Half');
  await reply.stop();
  expect((await reading).at(-1)).toMatchObject({
    type: 'finish',
    messageMetadata: { incomplete: 'stopped' },
  });
  expect((await uiHistoryOf(chat.id)).at(-1)?.metadata).toMatchObject({ incomplete: 'stopped' });
});

test.concurrent('a page that goes away leaves the reply to the service', async () => {
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
