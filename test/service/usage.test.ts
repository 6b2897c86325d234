import { expect, it } from 'vitest';
import { createApiKey } from '#domain/workspaces/api-keys.ts';
import type { UsageGrouping, UsageLine } from '#domain/workspaces/count-usage.ts';
import { noCounts, noModelUsage } from '#domain/workspaces/usage.ts';
import { agentctlOf } from '#support/agentctl.ts';
import { requestsOf, runBatch } from '#support/batches.ts';
import { clientOf } from '#support/client.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { startDynamoProxy } from '#support/dynamo-proxy.ts';
import { replyWith } from '#support/model-server.ts';
import { openTenant } from '#support/open-tenant.ts';
import { createPublishedAgent, operator } from '#support/service.ts';
import { createChat, historyOf, send } from '#support/turns.ts';
import { uploaderOf } from '#support/upload.ts';
import { summarize, today } from '#support/usage-today.ts';
import { useScriptedService } from '#support/use-service.ts';

const logged: string[] = [];
const proxy = closeAfterTests(await startDynamoProxy());
const { model, service } = await useScriptedService({
  variables: { AWS_ENDPOINT_URL_DYNAMODB: proxy.url },
  maxConcurrency: 2,
  onLog: ({ line }) => logged.push(line),
});
// The provider rejects messages with `Refuse`. Each reply has 10 prompt tokens and 2 completion tokens.
model.onCall = (call) => {
  if (call.request.messages.at(-1)?.content.includes('Refuse')) return call.fail(400);
  replyWith(call, 'An answer', { prompt_tokens: 10, completion_tokens: 2 });
};
proxy.emulator = service.run.endpoints.dynamodb;

const usageOf = async (workspaceId: string, by: UsageGrouping = 'day', range = {}) => {
  const { lines, total } = await summarize({ workspaceId, by, ...range });
  const figures = ({ counts, calls }: UsageLine) => ({ ...counts, ...calls });
  return {
    lines: Object.fromEntries(lines.map((line) => [line.name ?? 'none', figures(line)])),
    total: figures(total),
  };
};

/** Whether a function's call writes a usage item. */
const isUsage = (body: Record<string, unknown>): boolean => JSON.stringify(body.Key).includes('#USAGE');

it('tells turns, requests of batches, calls, tokens and uploads by day, key, agent and model', async () => {
  const tenant = await openTenant(service, { model: 'openai:test', titles: false });
  const { workspaceId, agentId, client } = tenant;
  const caller = await createPublishedAgent(workspaceId, {
    unified_tools: [{ type: 'consultant_call_agent', config: { agent_id: agentId } }],
  });
  const second = await createApiKey(operator(), { workspaceId, name: 'second', expiresAt: null });

  const chat = await createChat(client, tenant);
  expect((await send(client, tenant, chat, 'Hello')).status).toBe(200);
  expect((await send(client, tenant, chat, 'Refuse this')).status).toBe(500);
  const sending = await createChat(client, { agentId: caller });
  const other = clientOf(service, second);
  await send(other, { agentId: caller }, sending, 'consultant_call_agent {"message":"Hello"}');
  const requests = requestsOf(4, (index) => ({ message: index === 3 ? 'Refuse this' : 'Hello' }));
  await runBatch(client, tenant, requests);
  await uploaderOf(service, second).file('note.txt', 'twelve bytes');

  const [, received] = await historyOf(client, sending);
  const sum = received?.meta.token_usage;
  if (sum === undefined) throw new Error('The reply has no usage');
  expect(sum.total_calls).toBe(3);
  // One turn and three requests of a batch. The fourth request and the second turn failed.
  const ofFirst = { ...noModelUsage, calls: 4, promptTokens: 40, completionTokens: 8 };
  const ofSecond = {
    ...noModelUsage,
    calls: 3,
    promptTokens: sum.total_prompt_tokens,
    completionTokens: sum.total_completion_tokens,
  };
  const counts = { turns: 2, failedTurns: 1, batchRequests: 4, failedBatchRequests: 1 };
  const first = { ...noCounts, ...counts, ...ofFirst };
  const upload = { uploads: 1, uploadedBytes: 12 };
  const byKey = async () => (await usageOf(workspaceId, 'key')).lines;
  await expect.poll(byKey).toEqual({
    [tenant.apiKeyId]: first,
    [second.key.id]: { ...noCounts, turns: 1, ...upload, ...ofSecond },
  });
  const { lines: byAgent } = await usageOf(workspaceId, 'agent');
  expect(byAgent).toEqual({
    none: { ...noCounts, ...noModelUsage, ...upload },
    [agentId]: first,
    // The sum includes the calls of the agent that it called.
    [caller]: { ...noCounts, turns: 1, ...ofSecond },
  });
  const { lines: byModel } = await usageOf(workspaceId, 'model');
  expect(byModel).toEqual({
    'openai:test': { ...noCounts, ...noModelUsage, calls: 5, promptTokens: 50, completionTokens: 10 },
    demo: {
      ...{ ...noCounts, ...ofSecond, calls: 2 },
      promptTokens: ofSecond.promptTokens - 10,
      completionTokens: ofSecond.completionTokens - 2,
    },
  });

  expect((await usageOf(workspaceId, 'day', { from: '2020-01-01', to: '2020-12-31' })).lines).toEqual({});

  const others = await openTenant(service, { titles: false });
  await send(others.client, others, await createChat(others.client, others), 'Hello');
  const all = () => summarize({ by: 'workspace' });
  const turnsOf = async () =>
    Object.fromEntries((await all()).lines.map(({ name, counts }) => [name, counts.turns]));
  await expect.poll(turnsOf).toEqual({ [workspaceId]: 3, [others.workspaceId]: 1 });
  expect((await all()).total.counts).toMatchObject({ turns: 4, uploads: 1 });

  const { run, json } = agentctlOf(service);
  expect(await json('usage', '--from', today, '--to', today)).toMatchObject({
    ...{ workspace_id: null, by: 'workspace', total: { turns: 4 } },
    usage: [workspaceId, others.workspaceId]
      .toSorted((one, other) => one.localeCompare(other))
      .map((id) => ({ workspace_id: id })),
  });
  const words = ['usage', '--workspace', workspaceId, '--from'];
  const { stderr } = await run(...words, '2027-02-02', '--to', '2027-02-01');
  expect(stderr.split('\n')[0]).toBe('--from 2027-02-02 is after --to 2027-02-01');
  const figures = {
    ...{ turns: 3, failed_turns: 1, batch_requests: 4, failed_batch_requests: 1 },
    ...{ uploads: 1, uploaded_bytes: 12, model_calls: 7 },
    prompt_tokens: 40 + ofSecond.promptTokens,
    completion_tokens: 8 + ofSecond.completionTokens,
    total_tokens: 48 + ofSecond.promptTokens + ofSecond.completionTokens,
  };
  const day = await json(...words, today, '--to', today);
  expect(day).toMatchObject({ by: 'day', usage: [{ day: today }], total: figures });
});

it('counts a turn once when the answer to its counting gets lost', async () => {
  const tenant = await openTenant(service, { model: 'openai:test', titles: false });
  const chat = await createChat(tenant.client, tenant);
  let lost = 0;
  proxy.handle = async ({ target, body }, pass) => {
    const response = await pass();
    if (target !== 'UpdateItem' || !isUsage(body) || lost > 0) return response;
    lost += 1;
    return undefined;
  };
  await send(tenant.client, tenant, chat, 'Hello');
  await expect.poll(() => lost).toBe(1);
  const total = async () => (await usageOf(tenant.workspaceId)).total;
  await expect.poll(total).toMatchObject({ turns: 1, promptTokens: 10 });
});

it('lets a reply stand whose usage cannot be written, and logs what was not counted', async () => {
  const tenant = await openTenant(service, { model: 'openai:test', titles: false });
  const chat = await createChat(tenant.client, tenant);
  proxy.handle = async ({ target, body }, pass) =>
    target === 'UpdateItem' && isUsage(body)
      ? { status: 400, body: JSON.stringify({ __type: 'ValidationException', message: 'no' }) }
      : pass();
  expect(await send(tenant.client, tenant, chat, 'Hello')).toMatchObject({
    status: 200,
    body: { data: 'An answer' },
  });
  await expect
    .poll(() => logged.find((line) => line.includes('Usage was not counted')))
    .toContain(`"apiKeyId":"${tenant.apiKeyId}"`);
  proxy.handle = (_, pass) => pass();
  expect((await usageOf(tenant.workspaceId)).total).toMatchObject({ turns: 0 });
});
