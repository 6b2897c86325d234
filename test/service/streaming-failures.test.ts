import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { replyWith } from '#support/model-server.ts';
import { createChat, deltasOf, historyOf, send, stepThrough } from '#support/turns.ts';
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

describe.concurrent('a model that stalls', () => {
  it('behind comments, which are no events, is cut off, and the logs name source files and no message', async () => {
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

  it('does not stall as long as it reasons, or writes the arguments of a tool', async () => {
    const message = 'think aloud';
    const deltas = [
      { reasoning_content: 'hm ' },
      { reasoning: 'hm ' },
      { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm ' }] }] },
      { tool_calls: [{ index: 0, function: { arguments: ' ' } }] },
    ];
    const chatId = await createChat(client, tenant);
    const called = callFor(message);
    const responding = client.stream(chatId, { message, agent_id: tenant.agentId });
    const call = await called;
    // Together the deltas take longer than the timeout of 1 s.
    for (let round = 0; round < 13; round += 1) {
      call.raw(`data: ${JSON.stringify({ choices: [{ delta: deltas[round % deltas.length] }] })}\n\n`);
      await sleep(100);
    }
    replyWith(call, 'Done');
    const events = await (await responding).all();
    expect(deltasOf(events).join('')).toBe('Done');
    expect(events.slice(-2)).toMatchObject([{ type: 'response.output_text.completed' }, '[DONE]']);
    expect((await historyOf(client, chatId))[1]).toMatchObject({
      content: 'Done',
      meta: { reasoning_steps: [] },
    });
  });
});
