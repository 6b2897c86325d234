import { expect, it, vi } from 'vitest';
import { openBatchTenant } from '#support/batch-tenant.ts';
import { requestsOf } from '#support/batches.ts';
import { replyWith } from '#support/model-server.ts';
import { dataOf, summaryOf } from '#support/open-tenant.ts';
import { quickTimer } from '#support/quick-timer.ts';
import type { ModelCall } from '#support/scripted-model.ts';
import { useScriptedService } from '#support/use-service.ts';

const openCalls: ModelCall[] = [];
const { model, service } = await useScriptedService({
  variables: {
    BATCH_TIMEOUT_SECONDS: '10',
    LEASE_SECONDS: '3',
    // Two workers run ten requests each, and have ten others in their buffers.
    BATCH_WORKSPACE_SLOTS: '2',
    REQUESTS_PER_WORKER: '10',
  },
  maxConcurrency: 2,
  timer: quickTimer,
});
model.onCall = (call) => void openCalls.push(call);

/** Responds to all calls until the returned function is called. */
function respondToAll(): () => void {
  const responding = setInterval(() => {
    for (const call of openCalls.splice(0)) replyWith(call, 'Late');
  }, 20);
  return () => clearInterval(responding);
}

it('at its expiry what was not begun fails with 408, what was finishes, and the batch is completed', async () => {
  const tenant = await openBatchTenant(service);
  const requests = requestsOf(100, (index) => ({ message: `Hold ${index}` }));
  const batch = await tenant.submit(requests);
  await vi.waitUntil(() => openCalls.length > 0, { timeout: 60_000 });
  const statuses = () => tenant.tally(batch.id);
  await vi.waitUntil(() => Date.now() > Date.parse(batch.expires_at), { timeout: 60_000 });
  await vi.waitUntil(async () => (await statuses())['failed 408'] !== undefined, { timeout: 60_000 });
  const { processing = 0, ...others } = await statuses();
  expect(others).toEqual({ 'failed 408': 100 - processing });
  expect([processing <= 40, openCalls.length]).toEqual([true, Math.min(processing, 20)]);
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(batch.expires_at));
  expect(await tenant.batchAt(batch.id)).toMatchObject({
    status: 'in_progress',
    completed_requests: 0,
    failed_requests: 100 - processing,
  });
  // What a client has seen as processing finishes normally.
  const stop = respondToAll();
  const ended = await tenant.end(batch.id);
  stop();
  expect(ended).toMatchObject({
    status: 'completed',
    completed_requests: processing,
    failed_requests: 100 - processing,
  });
  expect(ended.completed_at).not.toBeNull();
  const results = await tenant.checkWhole(ended, requests);
  expect(results.find(({ status }) => status === 'failed')).toMatchObject({
    error_code: 408,
    error_message: 'The batch timed out before the request was processed',
  });
  expect(openCalls).toEqual([]);
});

it('a batch that has expired and is still in progress can be cancelled, and its results keep their 408', async () => {
  const tenant = await openBatchTenant(service);
  const batch = await tenant.submit(requestsOf(100, (index) => ({ message: `Hold ${index}` })));
  await vi.waitUntil(() => Date.now() > Date.parse(batch.expires_at), { timeout: 60_000 });
  await tenant.until(batch.id, ({ failed_requests }) => failed_requests > 0);
  const { processing = 0 } = await tenant.tally(batch.id);
  const cancel = await tenant.cancel(batch.id);
  expect(cancel.status).toBe(202);
  expect(dataOf(cancel)).toMatchObject({
    status: 'cancelling',
    completed_requests: 0,
    failed_requests: 100 - processing,
  });
  expect(summaryOf(await tenant.cancel(batch.id))).toBe(
    '400/10006 Only a batch in progress can be cancelled; this one is cancelling',
  );
  const stop = respondToAll();
  const ended = await tenant.end(batch.id);
  stop();
  expect(ended).toMatchObject({ status: 'cancelled', completed_at: null, completed_requests: processing });
  expect(ended.cancelled_at).not.toBeNull();
  expect(await tenant.tally(batch.id)).toEqual({
    success: processing,
    'failed 408': 100 - processing,
  });
});

it('what a worker has left lying at the expiry fails too, so that the batch ends', async () => {
  const tenant = await openBatchTenant(service);
  const batch = await tenant.submit(requestsOf(3));
  await vi.waitUntil(() => openCalls.length === 3, { timeout: 60_000 });
  await vi.waitUntil(() => Date.now() > Date.parse(batch.expires_at), { timeout: 60_000 });
  service.run.killWorkers('ProcessBatchItems');
  const ended = await tenant.end(batch.id);
  expect(ended).toMatchObject({ status: 'completed', completed_requests: 0, failed_requests: 3 });
  expect(await tenant.tally(batch.id)).toEqual({ 'failed 408': 3 });
  openCalls.splice(0);
});
