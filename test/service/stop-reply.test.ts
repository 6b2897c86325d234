import { expect, it } from 'vitest';
import type { StoppedReplyResource } from '#contract/chat.ts';
import type { StreamEvent } from '#contract/events.ts';
import type { ApiResponse, Client } from '#support/client.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { dataTableOf } from '#support/data-table.ts';
import { countLargeTexts } from '#support/file-bucket.ts';
import { replyWith } from '#support/model-server.ts';
import { summaryOf } from '#support/open-tenant.ts';
import { messageItems } from '#support/seed.ts';
import { createPublishedAgent } from '#support/service.ts';
import { createChat, historyOf, send, startReplyWith, stepThrough } from '#support/turns.ts';
import { useScriptedService } from '#support/use-service.ts';

// The stop comes from another client than the send, and from another function in another thread.
const { model, callFor, service, tenant, client } = await useScriptedService();
const table = closeAfterTests(dataTableOf(service));

const startReply = (message: string) => startReplyWith({ client, tenant, callFor }, message);

const stop = (chatId: number, fields: Record<string, unknown> = {}, by: Client = client) =>
  by.post<StoppedReplyResource>(`/chats/${chatId}/stop`, fields);

/** A slow machine may need more than the two seconds for which the response waits. */
function expectStopped({ status, body }: ApiResponse<StoppedReplyResource>, chatId: number): string {
  const response_id = expect.stringMatching(/^resp_/);
  const data = { chat_id: chatId, response_id, status: status === 200 ? 'stopped' : 'stopping' };
  expect(body).toEqual({ data, message: null, error_code: 0 });
  expect([200, 202]).toContain(status);
  return body.data.response_id;
}

/** Waits until the chat takes a message, and returns what the model then got. */
async function nextPrompt(chatId: number) {
  const prompts = model.calls.length;
  await expect.poll(async () => (await send(client, tenant, chatId, 'Next')).body.data).toBe('Hello');
  return model.calls[prompts]?.request.messages;
}

const stoppedEnd = (final_text: string) => ({
  ...{ type: 'response.output_text.completed', final_text, incomplete: 'stopped' },
});

it('ends the stream with the text so far, and closes the connection of the model', async () => {
  const { chatId, events, call } = await startReply('stop me');
  const responseId = expectStopped(await stop(chatId), chatId);
  const rest = await events.rest();
  expect(rest).toMatchObject([{ ...stoppedEnd('One, '), response_id: responseId }, '[DONE]']);
  await call.gone;
  const [, reply] = await historyOf(client, chatId);
  const { message_id: id } = rest[0] as { message_id: number };
  const meta = { incomplete: 'stopped', token_usage: { total_calls: 1 } };
  expect(reply).toMatchObject({ id, content: 'One, ', meta });
  expect(reply?.meta.error).toBeUndefined();
  expect(await nextPrompt(chatId)).toEqual([
    { role: 'user', content: 'stop me' },
    { role: 'assistant', content: 'One, ' },
    { role: 'user', content: 'Next' },
  ]);
});

it('ends a tool that runs, and its step', async () => {
  const expert = await createPublishedAgent(tenant.workspaceId, { llm_model: model.sharedName });
  const agentId = await createPublishedAgent(tenant.workspaceId, {
    llm_model: model.sharedName,
    unified_tools: [{ type: 'consultant_call_agent', name: 'ask', config: { agent_id: expert } }],
  });
  const chatId = await createChat(client, { agentId });
  const [called, expertCalled] = [callFor('use the tool'), callFor('What is it?')];
  const events = stepThrough(await client.stream(chatId, { message: 'use the tool', agent_id: agentId }));
  const call = await called;
  call.callTools({ name: 'ask', arguments: { message: 'What is it?' } });
  call.finish();
  const inTool = await expertCalled;
  expectStopped(await stop(chatId), chatId);
  const result = { success: false, data: { message: 'The reply was stopped' } };
  const rest = await events.rest();
  expect(rest.slice(-3)).toMatchObject([
    { type: 'response.reasoning_step.end', step: { result } },
    stoppedEnd(''),
    '[DONE]',
  ]);
  await inTool.gone;
  const [, reply] = await historyOf(client, chatId);
  expect(reply?.meta).toMatchObject({ incomplete: 'stopped', reasoning_steps: [{ result }] });
});

it('of an earlier reply does not end a later one', async () => {
  const { chatId, events, call } = await startReply('first reply');
  call.finish();
  const first = (await events.rest()) as StreamEvent[];
  const second = callFor('second reply');
  const sending = send(client, tenant, chatId, 'second reply');
  const secondCall = await second;
  expect(summaryOf(await stop(chatId, { response_id: first[0]?.response_id }))).toBe(
    '400/10006 Another reply than response_id is in progress for this chat',
  );
  replyWith(secondCall, 'Undisturbed');
  expect((await sending).body.data).toBe('Undisturbed');
});

it('needs no body, and only the reply’s own id may be named', async () => {
  const { chatId, events } = await startReply('named');
  expect(summaryOf(await stop(chatId, { response_id: 1 }))).toMatch(/^400\/10006 response_id/);
  const response = await client.request('POST', `/chats/${chatId}/stop`, { body: undefined });
  expect([200, 202]).toContain(response.status);
  const [{ response_id }] = (await events.rest()) as [StreamEvent];
  expect(response_id).toMatch(/^resp_/);
});

it('a large reply whose position another writer has taken leaves no text in the bucket', async () => {
  const { chatId, events, call } = await startReply('a large reply');
  const before = await countLargeTexts(service, tenant.workspaceId);
  const [, other] = messageItems({ ...tenant, chatId, count: 2, content: () => 'Of another writer' });
  await table.writeItems([other ?? {}]);
  replyWith(call, 'large '.repeat(70_000));
  expect((await events.rest()).at(-2)).toMatchObject({ type: 'response.error' });
  expect(await countLargeTexts(service, tenant.workspaceId)).toBe(before);
});
