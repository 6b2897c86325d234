import { setTimeout as pass } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { usage } from '#runtime/composition/services.ts';
import { openBatchTenant } from '#support/batch-tenant.ts';
import { requestsOf } from '#support/batches.ts';
import { replyWith } from '#support/model-server.ts';
import { useProxiedService } from '#support/proxied-service.ts';
import { quickTimer } from '#support/quick-timer.ts';
import type { ModelCall } from '#support/scripted-model.ts';

const logged: { functionName: string; line: string }[] = [];
const { model, service, proxy, table } = await useProxiedService({
  variables: { LEASE_SECONDS: '3' },
  timer: quickTimer,
  maxConcurrency: 4,
  onLog: (entry) => logged.push(entry),
});
const { onCall } = model;
const openCalls: ModelCall[] = [];

const isRepair = (call: ModelCall): boolean =>
  call.request.messages.at(-1)?.content.startsWith('Your answer was rejected') === true;

async function nextCall(): Promise<ModelCall> {
  await vi.waitUntil(() => openCalls.length > 0, { timeout: 60_000 });
  return openCalls.shift() as ModelCall;
}

it('a reply with a form whose worker dies while it holds the text of the repair is made again', async () => {
  const schema = { type: 'object', properties: { age: { type: 'integer' } }, required: ['age'] };
  const person = '{"age": 7}';
  const wrong = '{"age": "wrong-text"}';
  const tenant = await openBatchTenant(service, { titles: false });
  model.onCall = (call) => void openCalls.push(call);
  const requests = [{ custom_id: 'formed', message: 'Fill in the form' }];
  const response_format = { type: 'json_schema', json_schema: { name: 'person', schema } };
  const batch = await tenant.submit(requests, { response_format });
  replyWith(await nextCall(), wrong);
  const repair = await nextCall();
  expect(isRepair(repair)).toBe(true);
  repair.chunk('{"age": "half-te');
  await pass(300);
  expect(service.run.killWorkers('ProcessBatchItems')).toBeGreaterThan(0);
  const noText = async () => expect(JSON.stringify(await table.readAll())).not.toMatch(/wrong-text|half-te/);
  await noText();
  expect(await tenant.tally(batch.id)).toEqual({ processing: 1 });

  const paid: ModelCall[] = [];
  model.onCall = (call) => {
    paid.push(call);
    replyWith(call, isRepair(call) ? person : wrong);
  };
  const results = await tenant.checkWhole(await tenant.end(batch.id, 150), requests);
  expect(results).toMatchObject([{ response_content: person, response_usage: { total_calls: 2 } }]);
  for (const call of paid) expect(call.body).toMatchObject({ response_format: { json_schema: { schema } } });
  expect(paid.map(isRepair)).toEqual([false, true]);
  // The calls of the dead worker are counted nowhere: it has died before it could count them.
  const today = new Date().toISOString().slice(0, 10);
  const counted = async () =>
    (await Array.fromAsync(usage().between(tenant.workspaceId, today, today)))
      .flat()
      .map(({ models }) => models['openai:test']?.calls);
  await expect.poll(counted).toEqual([paid.length]);
  await noText();
  model.onCall = onCall;
});

it('a task of the workflow that fails says so in a line of its own, and every line names its invocation', async () => {
  const tenant = await openBatchTenant(service);
  let rejected = 0;
  proxy.handle = async ({ target, functionName }, pass) => {
    if (!functionName.includes('AdvanceBatch') || target !== 'GetItem' || rejected > 0) return pass();
    rejected += 1;
    return {
      status: 400,
      body: '{"__type":"ValidationException","message":"No such key","Item":{"text":{"S":"canary-row"}}}',
    };
  };
  const batch = await tenant.run(requestsOf(2), 100);
  expect(batch).toMatchObject({ status: 'completed', completed_requests: 2 });
  expect(rejected).toBe(1);
  const linesOf = (name: string) =>
    logged
      // Lines without JSON are the runner's own, about calls that it throttled.
      .filter(({ functionName, line }) => functionName.includes(name) && line.startsWith('{'))
      .map(({ line }) => JSON.parse(line) as Record<string, unknown>);
  await expect
    .poll(() => linesOf('AdvanceBatch').filter(({ level }) => level === 'ERROR'))
    .toMatchObject([
      {
        message: 'An invocation failed',
        error: { name: 'ValidationException', message: 'No such key' },
        workspace_id: tenant.workspaceId,
        batch_id: batch.id,
      },
    ]);
  for (const name of ['DispatchBatch', 'ProcessBatchItems', 'AdvanceBatch', 'ReconcileBatches']) {
    const lines = linesOf(name);
    expect(lines.map(({ request_id: id }) => id)).toEqual(
      lines.map(() => expect.stringMatching(/^[\da-f-]{36}$/)),
    );
    for (const { function_request_id: id, request_id: own } of lines)
      if (id !== undefined) expect(own).toBe(id);
  }
  expect(JSON.stringify(logged)).not.toContain('canary-row');
});
