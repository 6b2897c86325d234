import { expect, it } from 'vitest';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { hostileEndpoints } from '#support/hostile-endpoints.ts';
import { startHostileServer } from '#support/hostile-server.ts';
import { createPublishedAgent } from '#support/service.ts';
import { createChat, historyOf } from '#support/turns.ts';
import { useScriptedService } from '#support/use-service.ts';

/** Four is what one reply may use at once. */
const [replies, calls] = [5, 4];
const seconds = 1;
const type = 'consultant_call_mcp_tool';

const started = await startHostileServer();
closeAfterTests({ close: async () => started.close() });
const logs: string[] = [];
const { model, tenant, client } = await useScriptedService({
  variables: { TOOL_ALLOW: '127.0.0.1:*' },
  onLog: ({ line }) => logs.push(line),
});
model.onCall = (call) => {
  const last = call.request.messages.at(-1);
  const isCalm = last?.role === 'tool' || last?.content === 'Hello';
  if (isCalm) call.chunk('Done');
  else
    call.callTools(...Array.from({ length: calls }, () => ({ name: String(last?.content), arguments: {} })));
  call.finish();
};
const input_schema = { type: 'object' };
const tool = { tool: 'x', description: 'X.', approval: 'never', input_schema };
const agentId = await createPublishedAgent(tenant.workspaceId, {
  llm_model: 'openai:test',
  unified_tools: [...hostileEndpoints, []].map((_, index) => ({
    type,
    config: {
      ...{ url: `http://127.0.0.1:${started.port}/${index}`, timeout_seconds: seconds },
      tools: [{ ...tool, name: `tool_${index}` }],
    },
  })),
});

async function useInReply(index: number) {
  const chatId = await createChat(client, { agentId });
  const startedAt = performance.now();
  const fields = { message: `tool_${index}`, agent_id: agentId };
  await (await client.stream(chatId, fields)).all();
  const milliseconds = performance.now() - startedAt;
  const message = (await historyOf(client, chatId)).at(-1);
  return { milliseconds, text: message?.content, steps: message?.meta.reasoning_steps ?? [] };
}

/** Uses the tool twenty times at once. */
async function use(index: number) {
  const all = await Promise.all(Array.from({ length: replies }, () => useInReply(index)));
  return {
    milliseconds: Math.max(...all.map((each) => each.milliseconds)),
    texts: all.map(({ text }) => text),
    steps: all.flatMap(({ steps }) => steps),
  };
}

const calm: number[] = [];
for (const _ of [1, 2, 3]) {
  const { steps, milliseconds } = await use(hostileEndpoints.length);
  expect(steps.map(({ result }) => result)).toEqual(
    Array(replies * calls).fill({ success: true, data: { result: 'Hello' } }),
  );
  calm.push(milliseconds);
}

// `npm run bench:tools` has the figures of one machine.
it.each(hostileEndpoints.map(([what], index) => [what, index] as const))(
  'twenty uses at once of a server with %s fail in their time, and other replies go on',
  async (_what, index) => {
    const before = logs.length;
    const other = async () => {
      const chatId = await createChat(client, tenant);
      return (await client.stream(chatId, { message: 'Hello', agent_id: tenant.agentId })).all();
    };
    const [{ steps, texts, milliseconds }, events] = await Promise.all([use(index), other()]);
    expect(steps).toHaveLength(replies * calls);
    for (const { result } of steps)
      expect(result).toEqual({ success: false, data: { message: expect.not.stringMatching(/^It failed$/) } });
    expect(new Set(texts)).toEqual(new Set(['Done']));
    expect(events.at(-2)).toMatchObject({ type: 'response.output_text.completed', final_text: 'Done' });
    const failures = logs.slice(before).filter((line) => line.includes('A remote tool failed'));
    expect(failures).toHaveLength(replies * calls);
    // The time of a use, and that of replies on this machine.
    expect(milliseconds).toBeLessThan(seconds * 1000 + 200 + Math.max(...calm) * 10);
  },
);
