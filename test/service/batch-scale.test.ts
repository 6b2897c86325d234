import { expect, it, vi } from 'vitest';
import type { ChatResource } from '#contract/chat.ts';
import { openBatchTenant } from '#support/batch-tenant.ts';
import { requestsOf } from '#support/batches.ts';
import { replyWith } from '#support/model-server.ts';
import { contentsOf, createChat, historyOf } from '#support/turns.ts';
import { useScriptedService } from '#support/use-service.ts';

// Three batches of hundreds of requests, while other test files run.
vi.setConfig({ testTimeout: process.env.SOAK === undefined ? 180_000 : 3_600_000 });

let reply = 'r'.repeat(1000);
let replyMilliseconds = 0;
const { model, service } = await useScriptedService({
  recordCalls: true,
});
model.onCall = async (call) => {
  if (replyMilliseconds > 0) await new Promise((resolve) => setTimeout(resolve, replyMilliseconds));
  replyWith(call, reply);
};

/** Cases that are too slow for CI run only with `npm run soak:tests`. */
const isSoak = process.env.SOAK !== undefined;

it('1000 requests are taken in at once, end once each, and cost twelve write units each at most', async () => {
  // With limits, whose buckets are written too. This test may read more often than a client.
  const tenant = await openBatchTenant(service, { limits: { reads: 'none' } });
  const requests = requestsOf(1000, (index) => ({ message: `Message ${index} `.padEnd(1000, 'x') }));
  // Starts the functions' first threads.
  await tenant.run(requestsOf(1));
  const before = service.run.dynamoCalls().length;
  const calls = model.calls.length;
  const start = performance.now();
  const batch = await tenant.submit(requests);
  const accepted = performance.now() - start;
  const ended = await tenant.end(batch.id, 170);
  const took = performance.now() - start;
  expect(ended).toMatchObject({ status: 'completed', completed_requests: 1000, failed_requests: 0 });
  expect(model.calls.length - calls).toBe(1000);

  const own = service.run.dynamoCalls().slice(before);
  const units = new Map<string, number>();
  let cancelled = 0;
  for (const { functionName = '', target, consumed, status } of own) {
    // How many writes conflict depends on the machine.
    if (status !== 200) {
      cancelled += consumed.writeUnits;
      continue;
    }
    const name = `${/(Create|Process|Dispatch|Advance)\w+?(?=[0-9A-F]{8})/.exec(functionName)?.[0]} ${target}`;
    units.set(name, (units.get(name) ?? 0) + consumed.writeUnits);
  }
  const perItem = [...units.values()].reduce((sum, each) => sum + each, 0) / 1000;
  console.log(
    `1000 requests: accepted after ${Math.round(accepted)} ms, ended after ${Math.round(took)} ms, ` +
      `${perItem} write units each, and ${cancelled / 1000} for writes that failed: ${[...units]
        .filter(([, each]) => each > 0)
        .map(([name, each]) => `${name} ${each}`)
        .join(', ')}`,
  );
  expect(perItem).toBeLessThanOrEqual(12);
  expect(perItem + cancelled / 1000).toBeLessThanOrEqual(13);

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

// Both cases are larger than a buffered response of a function, 6 MB.
it('results of 10 MB come in one page', async () => {
  const [count, kilobytes] = isSoak ? [1000, 10] : [100, 100];
  const tenant = await openBatchTenant(service);
  reply = 'ä'.repeat(kilobytes * 500);
  const requests = requestsOf(count);
  const batch = await tenant.run(requests, 170);
  const start = performance.now();
  const results = await tenant.results(batch.id);
  console.log(
    `${count} results of ${kilobytes} KB in one page after ${Math.round(performance.now() - start)} ms`,
  );
  expect(results.map(({ custom_id }) => custom_id)).toEqual(requests.map(({ custom_id }) => custom_id));
  expect(results.filter(({ response_content }) => response_content === reply)).toHaveLength(count);
  reply = 'r'.repeat(1000);
});

it.runIf(isSoak)('requests of one history end in their order', async () => {
  const tenant = await openBatchTenant(service);
  const chatId = await createChat(tenant.client, tenant);
  const count = 1000;
  const requests = requestsOf(count, () => ({ history_id: chatId }));
  const start = performance.now();
  const batch = await tenant.run(requests, 170);
  console.log(`${count} requests of one history ended after ${Math.round(performance.now() - start)} ms`);
  expect(batch).toMatchObject({ status: 'completed', completed_requests: count });
  expect(contentsOf(await historyOf(tenant.client, chatId))).toEqual(
    requests.flatMap(({ message }) => [message, reply]),
  );
});

it.runIf(isSoak)('batches that use all workers delay another workspace by one check', async () => {
  const [busy, other] = [await openBatchTenant(service), await openBatchTenant(service)];
  const timeOf = async (): Promise<number> => {
    const start = performance.now();
    const requests = requestsOf(10);
    const batch = await other.run(requests);
    expect(batch.completed_requests).toBe(10);
    return performance.now() - start;
  };
  // The model is slow, so that the number of workers is the bottleneck and not this machine's processors.
  replyMilliseconds = 2000;
  await busy.run(requestsOf(400), 100);
  const alone = await timeOf();
  const large = await Promise.all(Array.from({ length: 10 }, () => busy.submit(requestsOf(1000))));
  const withLoad = await timeOf();
  console.log(
    `10 requests alone ${Math.round(alone)} ms, beside 10000 of another ${Math.round(withLoad)} ms`,
  );
  // Ten open batches have ten slots, more than there are workers (docs/batches.md, In-flight message slots). A worker asks
  // every 5 s whether messages wait, and then ends the requests in work. The last 2 s are for a slow machine.
  expect(withLoad).toBeLessThan(alone + 5000 + replyMilliseconds + 2000);
  replyMilliseconds = 0;
  for (const { id } of large) await busy.cancel(id);
  for (const { id } of large) expect((await busy.end(id)).status).toBe('cancelled');
});
