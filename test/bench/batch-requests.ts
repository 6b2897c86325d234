import { once } from 'node:events';
import { join } from 'node:path';
import { SHARE_ENV, Worker } from 'node:worker_threads';
import { Command } from 'commander';
import { createTenant, type Tenant } from '#support/service.ts';
import { print } from './print.ts';
import { startStack, writeUnitsEach } from './start-stack.ts';

export interface WorkerData {
  options: { batches: number; workers: number; width: number; slower: number };
  /** Workspaces for the warm-up and for the measurement. */
  warm: Tenant;
  measured: Tenant;
}

// How many requests of batches with short replies one workspace processes in a second in its store, with the latencies
// of DynamoDB in AWS. The workers of the service run in one thread, without queue, functions and HTTP.
const options = new Command('npm run bench:requests --')
  .option('--batches <number>', 'batches of 1,000 requests at the same time', Number, 4)
  .option('--workers <number>', 'workers of the workspace', Number, 15)
  .option('--width <number>', 'requests of a worker at the same time', Number, 25)
  .option('--slower <number>', 'multiply all times, so that the processor does not limit', Number, 1)
  .parse()
  .opts<WorkerData['options']>();

const stack = await startStack({ slower: options.slower });
try {
  const workerData: WorkerData = { options, warm: await createTenant(), measured: await createTenant() };
  const worker = new Worker(join(import.meta.dirname, 'batch-workers.ts'), { workerData, env: SHARE_ENV });
  await once(worker, 'message');
  const before = stack.dynamoCalls().length;
  const [seconds] = (await once(worker, 'message')) as [number];
  const calls = stack.dynamoCalls().slice(before);
  const [exitCode] = await once(worker, 'exit');
  if (exitCode !== 0) throw new Error('Requests are missing');
  const requests = options.batches * 1000;
  print({
    ...options,
    ...{ requests, seconds, aSecond: Math.round(requests / seconds), callsEach: calls.length / requests },
    writeUnitsEach: writeUnitsEach(calls, requests),
  });
} finally {
  await stack.close();
}
