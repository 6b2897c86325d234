import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { checkChats, checkEnded, endOf, requestsOf, submit } from '#support/batches.ts';
import { type DynamoProxy, startDynamoProxy } from '#support/dynamo-proxy.ts';
import { openTenant } from '#support/open-tenant.ts';
import { quickTimer } from '#support/quick-timer.ts';
import { type ScriptedModel, startScriptedModel } from '#support/scripted-model.ts';
import { type Service, startService } from '#support/service.ts';
import { contentsOf, createChat, historyOf } from '#support/turns.ts';

vi.setConfig({ testTimeout: 120_000 });

let model: ScriptedModel;
let proxy: DynamoProxy;
let service: Service;
const writes = new Set(['PutItem', 'UpdateItem', 'TransactWriteItems', 'BatchWriteItem']);
beforeAll(async () => {
  model = await startScriptedModel();
  proxy = await startDynamoProxy();
  service = await startService({
    // A claim whose answer never comes is a claim of nobody: the reconciler finds it when its lease has run out.
    variables: { OPENAI_BASE_URL: model.url, AWS_ENDPOINT_URL_DYNAMODB: proxy.url, LEASE_SECONDS: '3' },
    timer: quickTimer,
    maxConcurrency: 4,
    recordCalls: true,
  });
  proxy.engine = service.run.endpoints.dynamodb;
});
afterAll(async () => {
  await service.close();
  await model.close();
  await proxy.close();
});

/** What the SDK sends again is what it sent; the first answer never came. */
function loseEvery(nth: number): { lost: Map<string, number> } {
  const lost = new Map<string, number>();
  const counts = new Map<string, number>();
  proxy.handle = async (call, pass) => {
    const answer = await pass();
    if (!writes.has(call.target)) return answer;
    const count = (counts.get(call.target) ?? 0) + 1;
    counts.set(call.target, count);
    if (count % nth !== 1) return answer;
    lost.set(call.target, (lost.get(call.target) ?? 0) + 1);
    return undefined;
  };
  return { lost };
}

it('writes whose answers are lost are done once, and nobody loses what is his', async () => {
  const tenant = await openTenant(service, { model: 'openai:test' });
  const chatId = await createChat(tenant.client, tenant);
  const { lost } = loseEvery(3);
  const requests = requestsOf(24, (index) => (index % 6 === 0 ? { history_id: chatId } : {}));
  const calls = model.calls.length;
  const batch = await endOf(tenant.client, (await submit(tenant.client, tenant, requests)).id, 100);
  expect(batch).toMatchObject({ status: 'completed', completed_requests: 24 });
  for (const target of writes) expect(lost.get(target), target).toBeGreaterThan(0);
  const results = await checkEnded(tenant.client, batch, requests);
  await checkChats(tenant.client, requests, results, chatId);
  expect(contentsOf(await historyOf(tenant.client, chatId))).toHaveLength(8);
  // Stored once, each of them; asked again where a claim was lost.
  expect(model.calls.length - calls).toBeGreaterThanOrEqual(24);
});
