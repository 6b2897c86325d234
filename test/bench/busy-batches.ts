import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { Command } from 'commander';
import type { LoadClient } from './load-client.ts';
import { print } from './print.ts';
import { startProvider } from './provider.ts';
import type { CallTimes } from './scripted-provider.ts';
import { startStack, writeUnitsEach } from './start-stack.ts';
import { sumOf } from './statistics.ts';

// How busy a batch keeps its workers, and how soon the batches of other workspaces start meanwhile. Replies take
// log-normal times.
const options = new Command('npm run bench:batches --')
  .option('--mean <seconds>', 'mean time of a reply', Number, 2.7)
  .option('--workers <number>', 'the setting batchWorkers', Number)
  .option('--width <number>', 'the setting requestsPerWorker', Number)
  .option('--seed <number>', 'of the times', Number, 1)
  .option('--aws-time', 'give DynamoDB the latencies of AWS', false)
  .parse()
  .opts<{ mean: number; workers?: number; width?: number; seed: number; awsTime: boolean }>();

const requests = 1000;
/** The 99th percentile of the times, divided by their median. */
const p99OverMedian = 6.4;

const provider = await startProvider();
const stack = await startStack({
  model: provider.url,
  settings: {
    ...(options.workers !== undefined && { batchWorkers: options.workers }),
    ...(options.width !== undefined && { requestsPerWorker: options.width }),
  },
  ...(options.awsTime && { slower: 1 }),
});
const slots = await slotsOfWorkspace();

/** What the batches of one workspace may use at once. */
async function slotsOfWorkspace(): Promise<{ workers: number; requests: number }> {
  const [file = ''] = (await readdir(stack.assembly)).filter((name) => name.endsWith('.template.json'));
  const text = await readFile(join(stack.assembly, file), 'utf8');
  const numberOf = (name: string): number => Number(new RegExp(`"${name}": "(\\d+)"`).exec(text)?.[1]);
  const workers = numberOf('BATCH_WORKSPACE_SLOTS');
  return { workers, requests: workers * numberOf('REQUESTS_PER_WORKER') };
}

const submit = (client: LoadClient, name: string, count: number): Promise<string> =>
  client.submitBatch(
    Array.from({ length: count }, (_, index) => ({
      custom_id: `request-${index}`,
      message: `${name} ${index} `.padEnd(1000, 'x'),
    })),
  );

async function untilEnd(client: LoadClient, id: string): Promise<void> {
  while ((await client.batchStatus(id)) === 'in_progress') await after(500);
}

const setPace = (): Promise<void> =>
  provider.setPace({
    ...{ first: 0, chunk: 0 },
    logNormal: { mean: options.mean * 1000, p99OverMedian, seed: options.seed },
  });

const isBusyWorker = ({ functionName, busy }: { functionName: string; busy: boolean }): boolean =>
  busy && functionName.includes('ProcessBatchItems');

/** Waits until all workers of a workspace run. @returns epoch milliseconds */
async function untilAllWork(): Promise<number> {
  while (stack.workers().filter(isBusyWorker).length < slots.workers) await after(10);
  return Date.now();
}

async function measureBusy(): Promise<void> {
  const client = await stack.newClient();
  await untilEnd(client, await submit(client, 'Warm', Math.min(2 * slots.requests, 1000)));
  await setPace();
  const before = stack.dynamoCalls().length;
  const submitted = Date.now();
  const batch = submit(client, 'Busy', requests);
  const allRun = await untilAllWork();
  await untilEnd(client, await batch);
  const calls = await provider.calls();
  const ended = Math.max(...calls.map(({ end }) => end));
  const lastStart = Math.max(...calls.map(({ start }) => start));
  const longest = Math.max(...calls.map(({ given }) => given));
  const ideal = sumOf(calls, ({ given }) => given) / slots.requests + longest;
  const secondsUntil = (time: number): number => (time - submitted) / 1000;
  print({
    ...{ slots, seed: options.seed, calls: calls.length },
    seconds: {
      ...{ allWorkersRun: secondsUntil(allRun), lastStart: secondsUntil(lastStart) },
      ...{ ended: secondsUntil(ended), longest: longest / 1000 },
    },
    busyShare: busyShare(calls, allRun, lastStart),
    endOverIdeal: (ended - submitted) / ideal,
    writeUnitsEach: writeUnitsEach(stack.dynamoCalls().slice(before), requests),
  });
}

/** The share of the slots in which a request is with the model, on average between two times. */
function busyShare(calls: readonly CallTimes[], from: number, to: number): number {
  const busy = sumOf(calls, ({ start, end }) => Math.max(0, Math.min(end, to) - Math.max(start, from)));
  return busy / ((to - from) * slots.requests);
}

/** Small batches of a second and a third workspace, while one and then two others have as many workers as they get. */
async function measureNeighbours(): Promise<void> {
  await setPace();
  const [first, second, third] = [await stack.newClient(), await stack.newClient(), await stack.newClient()];
  await submit(first, 'First', 1000);
  await untilAllWork();
  await after(2000);
  const ofSecond = await secondsToStart(second, 'Small of the second');
  await submit(second, 'Second', 1000);
  await after(3000);
  const ofThird = await secondsToStart(third, 'Small of the third');
  print({ secondsToStart: { ofSecond, ofThird } });
}

/** Seconds from the submission of a small batch until its first request is with the model. */
async function secondsToStart(client: LoadClient, name: string): Promise<number> {
  const submitted = Date.now();
  await submit(client, name, 10);
  for (;;) {
    const own = (await provider.calls()).find(({ message }) => message.startsWith(name));
    if (own !== undefined) return (own.start - submitted) / 1000;
    await after(100);
  }
}

try {
  await measureBusy();
  await measureNeighbours();
} finally {
  await stack.close();
  await provider.close();
}
