import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createFunctionPool } from '#local/lambda/function-pool.ts';

const atOnce = 4 * availableParallelism();

const handler = `
import { threadId } from 'node:worker_threads';
import { setTimeout as sleep } from 'node:timers/promises';
export const handler = async ({ compute = 0, wait = 0 }) => {
  await sleep(wait);
  const end = performance.now() + compute;
  while (performance.now() < end);
  return threadId;
};
`;

/** A pool whose load gauge always reports an idle machine, so that only the expected load matters. */
async function startPool() {
  const folder = await mkdtemp(path.join(tmpdir(), 'pool-'));
  await writeFile(path.join(folder, 'index.mjs'), handler);
  let expected = 0;
  const pool = createFunctionPool(
    {
      logicalId: 'Test',
      functionName: 'test',
      functionArn: 'arn:aws:lambda:us-east-1:123456789012:function:test',
      qualifiers: [],
      accessKeyId: 'test',
      taskRoot: folder,
      handler: 'index.handler',
      timeoutSeconds: 10,
      memoryMegabytes: 128,
      compileCacheFolder: path.join(folder, 'cache'),
      environment: {},
      hasLogListener: false,
      emulatorRoute: undefined,
    },
    {
      maxConcurrency: atOnce,
      onInvoked() {},
      onLine() {},
      onViolation() {},
      gauge: {
        watch() {},
        forget() {},
        load: () => expected,
        expect(load) {
          expected += load;
        },
        idleProcessors: () => 2,
      },
    },
  );
  onTestFinished(async () => {
    await pool.close();
    await rm(folder, { recursive: true });
  });
  const call = async (what: { compute?: number; wait?: number }): Promise<number> => {
    const result = await pool.invoke(JSON.stringify(what));
    if (!result.succeeded) throw new Error(result.errorMessage);
    return Number(result.payload);
  };
  /** How many threads are busy after `atOnce` concurrent calls, if that many threads exist already. */
  const startedAtOnce = async (what: { compute?: number; wait?: number }): Promise<number> => {
    const calls = Array.from({ length: atOnce }, () => call(what));
    const started = pool.threads().filter(({ busy }) => busy).length;
    expected = 0;
    await Promise.all(calls);
    expected = 0;
    return started;
  };
  return { pool, call, startedAtOnce };
}

it('begins more calls than there are processors at once only where calls wait rather than compute', async () => {
  const { pool, call, startedAtOnce } = await startPool();
  while (pool.threads().length < atOnce) await startedAtOnce({ wait: 300 });
  for (let count = 0; count < 30; count += 1) await call({ compute: 20 });
  // One thread for each processor, plus the threads for calls that wait, with a margin.
  expect(await startedAtOnce({ compute: 20 })).toBeLessThanOrEqual(2.5 * availableParallelism());
  for (let count = 0; count < 30; count += 1) await call({ wait: 30 });
  expect(await startedAtOnce({ wait: 30 })).toBeGreaterThan(3 * availableParallelism());
});
