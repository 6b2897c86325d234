import { expect, it } from 'vitest';
import type { ChatResource } from '#contract/chat.ts';
import { openBatchTenant } from '#support/batch-tenant.ts';
import { requestsOf } from '#support/batches.ts';
import { replyWith } from '#support/model-server.ts';
import { contentsOf, historyOf } from '#support/turns.ts';
import { useScriptedService } from '#support/use-service.ts';

let reply = 'r'.repeat(1000);
const { model, service } = await useScriptedService({ recordCalls: true });
model.onCall = (call) => replyWith(call, reply);

it('1000 requests are taken in at once, end once each, and cost twelve write units each at most', async () => {
  // With limits, whose buckets are written too. This test may read more often than a client.
  const tenant = await openBatchTenant(service, { limits: { reads: 'none' } });
  const requests = requestsOf(1000, (index) => ({ message: `Message ${index} `.padEnd(1000, 'x') }));
  // Starts the functions' first threads.
  await tenant.run(requestsOf(1));
  const before = service.run.dynamoCalls().length;
  const calls = model.calls.length;
  const batch = await tenant.submit(requests);
  const ended = await tenant.end(batch.id, 170);
  expect(ended).toMatchObject({ status: 'completed', completed_requests: 1000, failed_requests: 0 });
  expect(model.calls.length - calls).toBe(1000);

  const units = { done: 0, failed: 0 };
  // How many writes conflict depends on the machine.
  for (const { consumed, status } of service.run.dynamoCalls().slice(before))
    units[status === 200 ? 'done' : 'failed'] += consumed.writeUnits;
  console.log(`1000 requests took ${units.done} write units, and ${units.failed} for writes that failed`);
  expect(units.done).toBeLessThanOrEqual(12_000);
  expect(units.done + units.failed).toBeLessThanOrEqual(13_000);

  const results = await tenant.checkEnded(ended, requests);
  const { body } = await tenant.client.get<ChatResource[]>('/chats');
  expect(body.pagination?.total_records).toBe(1001);
  expect(new Set(results.map(({ history_id }) => history_id)).size).toBe(1000);
  // Only a sample: reading all 1,000 histories takes longer than the batch.
  for (const index of [0, 9, 10, 499, 998, 999]) {
    const history = await historyOf(tenant.client, results[index]?.history_id ?? 0);
    expect(contentsOf(history)).toEqual([requests[index]?.message, reply]);
  }
});

// A buffered response of a function has at most 6 MB.
it('results of 10 MB come in one page', async () => {
  const [count, kilobytes] = [100, 100];
  const tenant = await openBatchTenant(service);
  reply = 'ä'.repeat(kilobytes * 500);
  const requests = requestsOf(count);
  const batch = await tenant.run(requests, 170);
  const results = await tenant.results(batch.id);
  expect(results.map(({ custom_id }) => custom_id)).toEqual(requests.map(({ custom_id }) => custom_id));
  expect(results.filter(({ response_content }) => response_content === reply)).toHaveLength(count);
});
