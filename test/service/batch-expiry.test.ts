import { expect, it, vi } from 'vitest';
import { openBatchTenant } from '#support/batch-tenant.ts';
import { requestsOf } from '#support/batches.ts';
import { replyWith } from '#support/model-server.ts';
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
  for (const call of openCalls.splice(0)) replyWith(call, 'Late');
  model.onCall = (call) => replyWith(call, 'Late');
  const ended = await tenant.end(batch.id);
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
});
