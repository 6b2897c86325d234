import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { eventOf } from '#contract/event-text.ts';
import { textsOf } from '#support/read-stream.ts';
import { contentsOf, createChat, historyOf, rejectedWhileResponding, send } from '#support/turns.ts';
import { useScriptedService } from '#support/use-service.ts';

const { callFor, tenant, client } = await useScriptedService();

const done = 'data: [DONE]\n\n';

const start = async (chatId: number, message: string, headers: Record<string, string> = {}) => {
  const body = { message, agent_id: tenant.agentId, resumable: true };
  return client.request('POST', `/chats/${chatId}/messages`, { body, headers });
};
const resume = (chatId: number, responseId: string, after?: number): Promise<Response> =>
  client.request(
    'GET',
    `/chats/${chatId}/stream?response_id=${responseId}${after === undefined ? '' : `&starting_after=${after}`}`,
  );
const all = (response: Response): Promise<string[]> => Array.fromAsync(textsOf(response));

it('a', async () => {
  const chatId = await createChat(client, tenant);
  const called = callFor('one');
  const response = await start(chatId, 'one');
  const texts = textsOf(response);
  const first = String((await texts.next()).value);
  const { response_id } = eventOf(first);
  console.log(first);
  const call = await called;
  call.chunk('a');
  const resumed = await resume(chatId, response_id);
  console.log(resumed.status);
  call.chunk('b');
  call.finish();
  const rest = await Array.fromAsync(texts);
  expect(rest.at(-1)).toBe(done);
  expect(await all(resumed)).toEqual([first, ...rest]);
  expect(await all(await resume(chatId, response_id, 2))).toEqual(rest.slice(2));
});
