import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createFunctionPool } from '#local/lambda/function-pool.ts';

const handler = `
import { threadId } from 'node:worker_threads';
import { setTimeout as sleep } from 'node:timers/promises';
export const handler = async (milliseconds) => {
  await sleep(milliseconds);
  return threadId;
};
`;

/** @param idleProcessors what the machine reports */
async function startPool(idleProcessors: number) {
  const folder = await mkdtemp(path.join(tmpdir(), 'pool-'));
  await writeFile(path.join(folder, 'index.mjs'), handler);
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
      maxConcurrency: 4,
      onInvoked() {},
      onLine() {},
      onViolation() {},
      idleProcessors: () => idleProcessors,
    },
  );
  onTestFinished(async () => {
    await pool.close();
    await rm(folder, { recursive: true });
  });
  /** @returns the id of the thread */
  const call = async (milliseconds: number): Promise<number> => {
    const result = await pool.invoke(JSON.stringify(milliseconds));
    if (!result.succeeded) throw new Error(result.errorMessage);
    return Number(result.payload);
  };
  return { pool, call };
}

it('starts another thread for a call that waits while a processor is idle, up to the maximum', async () => {
  const { pool, call } = await startPool(2);
  await call(0);
  await Promise.all(Array.from({ length: 12 }, () => call(1500)));
  expect(pool.threads()).toHaveLength(4);
});

it('uses an idle thread at once, the one with the most calls', async () => {
  const { pool, call } = await startPool(2);
  const first = await call(0);
  await Promise.all([call(1500), call(1500)]);
  expect(pool.threads().length).toBeGreaterThan(1);
  for (let count = 0; count < 3; count += 1) expect(await call(0)).toBe(first);
});

it('starts no thread while calls end on a machine without an idle processor', async () => {
  const { pool, call } = await startPool(0);
  await call(0);
  await Promise.all(Array.from({ length: 100 }, () => call(20)));
  // One more if this machine has stopped for a second.
  expect(pool.threads().length).toBeLessThanOrEqual(2);
});

it('starts a thread without an idle processor if no call has ended for a second', async () => {
  const { pool, call } = await startPool(0);
  const first = await call(0);
  const [, other] = await Promise.all([call(4000), call(0)]);
  expect(other).not.toBe(first);
  expect(pool.threads()).toHaveLength(2);
});
