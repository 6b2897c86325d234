import { setTimeout as pass } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { BatchResource } from '#contract/batch.ts';
import { batchesOf } from '#support/batch-tenant.ts';
import { requestsOf, tally } from '#support/batches.ts';
import { replyWith } from '#support/model-server.ts';
import { dataOf } from '#support/open-tenant.ts';
import { quickTimer } from '#support/quick-timer.ts';
import type { ModelCall } from '#support/scripted-model.ts';
import { seededRandom } from '#support/seeded-random.ts';
import { useScriptedService } from '#support/use-service.ts';

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
const random = seededRandom(seed);
const below = (most: number): number => Math.floor(random() * most);

const { model, tenant, client } = await useScriptedService({
  variables: { BATCH_TIMEOUT_SECONDS: '8' },
  maxConcurrency: 8,
  timer: quickTimer,
});
const { submit, cancel, batchAt, end, results: resultsOf, checkEnded } = batchesOf(tenant);
model.onCall = (call) => void respond(call);

const openCalls: ModelCall[] = [];

async function respond(call: ModelCall): Promise<void> {
  const message = call.request.messages.at(-1)?.content ?? '';
  if (message.startsWith('Hold')) return void openCalls.push(call);
  await pass(below(1500));
  if (message.startsWith('Refuse')) return call.fail(400);
  replyWith(call, 'Done');
}

interface Counts {
  readonly success: number;
  readonly failed: number;
}

const countsOf = ({ completed_requests, failed_requests }: BatchResource): Counts => ({
  success: completed_requests,
  failed: failed_requests,
});

async function countsOfResults(id: string): Promise<Counts> {
  const results = await resultsOf(id);
  const counted = (status: string) => results.filter((result) => result.status === status).length;
  return { success: counted('success'), failed: counted('failed') };
}

async function countsInList(id: string): Promise<Counts> {
  const batches = dataOf(await client.get<BatchResource[]>('/batches?limit=1000'));
  return countsOf(batches.find((batch) => batch.id === id) as BatchResource);
}

/** Reads the counts again and again: they must never decrease. Returns the number of rounds. */
async function watch(id: string): Promise<number> {
  const checks = [() => batchAt(id).then(countsOf), () => countsOfResults(id), () => countsInList(id)];
  let before: Counts = { success: 0, failed: 0 };
  for (let count = 0; ; count += 1) {
    const { status } = await batchAt(id);
    for (const check of [...checks, ...checks.toReversed()]) {
      const now = await check();
      expect(now.success).toBeGreaterThanOrEqual(before.success);
      expect(now.failed).toBeGreaterThanOrEqual(before.failed);
      before = now;
    }
    if (!['in_progress', 'cancelling'].includes(status)) return count;
    await pass(100);
  }
}

it('counts and results agree at every moment, whatever ends, is cancelled or expires', async () => {
  console.log(`SEED=${seed}`);
  const ends = await Promise.all(
    Array.from({ length: 8 }, async (_, index) => {
      const requests = requestsOf(1 + below(35), (position) => ({
        // Every other batch has requests that get no reply before it expires.
        message: `${['Answer', 'Refuse', 'Answer', index % 2 === 0 ? 'Hold' : 'Answer'][below(4)]} ${position}`,
      }));
      const { id } = await submit(requests);
      const watching = watch(id);
      if (index % 4 >= 2) {
        await pass(1000 + below(5000));
        const cancelled = await cancel(id);
        if (cancelled.status === 202) {
          const [atCancel, afterwards] = [countsOf(dataOf(cancelled)), await countsOfResults(id)];
          expect(afterwards.success).toBeGreaterThanOrEqual(atCancel.success);
          expect(afterwards.failed).toBeGreaterThanOrEqual(atCancel.failed);
        }
        // The running requests end.
        for (const call of openCalls.splice(0)) call.finish();
      }
      const release = setInterval(() => {
        for (const call of openCalls.splice(0)) call.finish();
      }, 10_000);
      try {
        const checks = await watching;
        const ended = await end(id);
        const results = await checkEnded(ended, requests);
        return `${ended.status} ${JSON.stringify(tally(results))} in ${checks} looks`;
      } finally {
        clearInterval(release);
      }
    }),
  );
  console.log(ends.join('\n'));
});
