import { setTimeout as sleep } from 'node:timers/promises';
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

it('writes a comment after 15 seconds of silence, and none while events come', {
  timeout: 60_000,
}, async () => {
  const chatId = await createChat(client, tenant);
  const called = callFor('think');
  const response = await client.request('POST', `/chats/${chatId}/messages`, { body: body('think') });
  const call = await called;
  const started = performance.now();
  const decoder = new TextDecoder();
  let text = '';
  let silence: number | undefined;
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (silence !== undefined || !text.includes(': ping\n\n')) continue;
    silence = performance.now() - started;
    replyWith(call, 'thought');
  }
  expect(silence).toBeGreaterThan(14_000);
  const [before, after, ...more] = text.split(': ping\n\n');
  expect(before).toMatch(/^event: response\.created\ndata: .*\n\n$/);
  expect(after).toMatch(/^event: response\.output_text\.delta\n/);
  expect(more).toEqual([]);
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

// This test measures time, so it is retried in case the machine was busy.
it('shows the first piece of a slow reply in the first tenth of its time', { retry: 4 }, async () => {
  const chatId = await createChat(client, tenant);
  const called = callFor('slowly');
  const start = performance.now();
  const streaming = client.stream(chatId, body('slowly'));
  const call = await called;
  const writing = (async () => {
    for (let index = 0; index < 20; index += 1) {
      call.chunk(`${index} `);
      await sleep(100);
    }
    call.finish();
  })();
  let first: number | undefined;
  let deltas = 0;
  for await (const event of await streaming)
    if (event !== '[DONE]' && event.type === 'response.output_text.delta') {
      first ??= performance.now() - start;
      deltas += 1;
    }
  const whole = performance.now() - start;
  await writing;
  expect(deltas).toBe(20);
  expect(first).toBeLessThan(whole / 10);
});

it('streams to many clients at once, to each its own reply', async () => {
  const chats = await Promise.all(Array.from({ length: 3 }, () => createChat(client, tenant)));
  const open = async (chatId: number, index: number) => {
    const called = callFor(`client ${index}`);
    const events = stepThrough(await client.stream(chatId, body(`client ${index}`)));
    await events.next();
    return { events, call: await called, chatId };
  };
  const streams = await Promise.all(chats.map(open));
  for (let round = 0; round < 3; round += 1)
    for (const [index, { events, call, chatId }] of streams.entries()) {
      call.chunk(`${index}/${round}`);
      expect(await events.next()).toMatchObject({ delta: `${index}/${round}`, chat_id: chatId });
    }
  for (const { events, call } of streams) {
    call.finish();
    expect((await events.rest()).at(-1)).toBe('[DONE]');
  }
});
