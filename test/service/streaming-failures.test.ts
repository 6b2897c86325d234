import { expect, it } from 'vitest';
import { createChat, historyOf, send, stepThrough } from '#support/turns.ts';
import { useScriptedService } from '#support/use-service.ts';

const logged: string[] = [];
const { callFor, tenant, client } = await useScriptedService({
  variables: { STREAM_TIMEOUT_SECONDS: '1' },
  maxConcurrency: 4,
  onLog: ({ line }) => logged.push(line),
});
// Loads the functions before tests with timeouts start.
await send(client, tenant, await createChat(client, tenant), 'warm');

const timedOut = { code: 10005, message: 'Stream timed out' };

it('a model that stalls behind comments, which are no events, is cut off, and the logs name source files and no message', async () => {
  const chatId = await createChat(client, tenant);
  const called = callFor('stall chatting');
  const body = { message: 'stall chatting', agent_id: tenant.agentId };
  const events = stepThrough(await client.stream(chatId, body));
  expect(await events.next()).toMatchObject({ type: 'response.created' });
  const call = await called;
  call.chunk('One');
  expect(await events.next()).toMatchObject({ type: 'response.output_text.delta', delta: 'One' });
  const chatter = setInterval(() => call.raw(': still here\n\n'), 100);
  expect(await events.rest()).toEqual([
    {
      type: 'response.error',
      response_id: expect.any(String),
      chat_id: chatId,
      sequence_number: 2,
      ...timedOut,
    },
    '[DONE]',
  ]);
  await call.gone;
  clearInterval(chatter);
  const [, reply] = await historyOf(client, chatId);
  expect(reply).toMatchObject({ content: 'One', meta: { error: timedOut, reasoning_steps: [] } });
  expect(logged.length).toBeGreaterThan(0);
  expect(logged.filter((line) => line.includes('stall chatting'))).toEqual([]);
  // Stack traces name the source files, not the bundle.
  expect(logged.some((line) => /at .*\(functions\/[\w/-]+\.ts:\d+:\d+\)/.test(line))).toBe(true);
  expect(logged.filter((line) => line.includes('index.mjs:'))).toEqual([]);
});
