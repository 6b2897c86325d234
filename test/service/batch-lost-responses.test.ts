import { expect, it } from 'vitest';
import { openBatchTenant } from '#support/batch-tenant.ts';
import { requestsOf } from '#support/batches.ts';
import { useProxiedService } from '#support/proxied-service.ts';
import { quickTimer } from '#support/quick-timer.ts';
import { contentsOf, createChat, historyOf } from '#support/turns.ts';

const logged: { functionName: string; line: string }[] = [];
const writes = new Set(['PutItem', 'UpdateItem', 'TransactWriteItems', 'BatchWriteItem']);
const { model, service, proxy } = await useProxiedService({
  // If the response to a claim is lost, no worker runs the item: the reconciler finds it when its lease has expired.
  variables: { LEASE_SECONDS: '3' },
  timer: quickTimer,
  maxConcurrency: 4,
  recordCalls: true,
  onLog: (entry) => logged.push(entry),
});

/** Loses the response to every nth write after it was carried out. The SDK then repeats the same call. */
function loseEvery(nth: number): { lost: Map<string, number> } {
  const lost = new Map<string, number>();
  const counts = new Map<string, number>();
  proxy.handle = async (call, pass) => {
    const response = await pass();
    if (!writes.has(call.target)) return response;
    const count = (counts.get(call.target) ?? 0) + 1;
    counts.set(call.target, count);
    if (count % nth !== 1) return response;
    lost.set(call.target, (lost.get(call.target) ?? 0) + 1);
    return undefined;
  };
  return { lost };
}

/** The simulated world loses the response of every write in every run. */
it.runIf(process.env.SOAK !== undefined)(
  'writes whose answers are lost are done once, and nobody loses what is his',
  async () => {
    const tenant = await openBatchTenant(service);
    const chatId = await createChat(tenant.client, tenant);
    const { lost } = loseEvery(3);
    const requests = requestsOf(24, (index) => (index % 6 === 0 ? { history_id: chatId } : {}));
    const calls = model.calls.length;
    const batch = await tenant.run(requests, 100);
    expect(batch).toMatchObject({ status: 'completed', completed_requests: 24 });
    for (const target of writes) expect(lost.get(target), target).toBeGreaterThan(0);
    await tenant.checkWhole(batch, requests, chatId);
    expect(contentsOf(await historyOf(tenant.client, chatId))).toHaveLength(8);
    // Each reply is stored once, although the model is called again if a claim was lost.
    expect(model.calls.length - calls).toBeGreaterThanOrEqual(24);
  },
);

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
