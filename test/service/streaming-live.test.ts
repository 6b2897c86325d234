import { expect, it } from 'vitest';
import { replyWith } from '#support/model-server.ts';
import { createChat, stepThrough } from '#support/turns.ts';
import { useScriptedService } from '#support/use-service.ts';

const { model, callFor, tenant, client } = await useScriptedService();

const body = (message: string) => ({ message, agent_id: tenant.agentId });

it('answers before the model does, and response.created comes first', async () => {
  const chatId = await createChat(client, tenant);
  const called = callFor('first bytes');
  const response = await client.request('POST', `/chats/${chatId}/messages`, { body: body('first bytes') });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    // The model sends its first chunk only after the client has received response.created.
    if (text.includes('response.created') && !text.includes('delta')) {
      expect(text.startsWith('event: response.created\ndata: {')).toBe(true);
      replyWith(await called, 'now');
    }
  }
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
});

it('passes each piece on as it comes: the model says the next only when the client has the last', async () => {
  const chatId = await createChat(client, tenant);
  const called = callFor('piece by piece');
  const events = stepThrough(await client.stream(chatId, body('piece by piece')));
  expect(await events.next()).toMatchObject({
    type: 'response.created',
    chat_id: chatId,
    agent_id: tenant.agentId,
    model: model.sharedName,
    sequence_number: 0,
  });
  const call = await called;
  const chunks = Array.from({ length: 30 }, (_, index) => (index % 3 === 0 ? '\n' : `word ${index} 🙂 `));
  for (const [index, chunk] of chunks.entries()) {
    call.chunk(chunk);
    expect(await events.next()).toMatchObject({
      type: 'response.output_text.delta',
      delta: chunk,
      sequence_number: index + 1,
    });
  }
  call.finish({ prompt_tokens: 5, completion_tokens: 30 });
  expect(await events.next()).toMatchObject({
    type: 'response.output_text.completed',
    final_text: chunks.join(''),
    usage: { total_prompt_tokens: 5, total_completion_tokens: 30, total_tokens: 35, total_calls: 1 },
  });
  expect(await events.next()).toBe('[DONE]');
  expect(await events.next()).toBeUndefined();
});
