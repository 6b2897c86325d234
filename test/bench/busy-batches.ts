import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { Command } from 'commander';
import { awsTime } from '#local/dynamodb/aws-time.ts';
import { runTemplate } from '#local/run-template.ts';
import { compileCacheOf } from '#support/compile-cache.ts';
import { createTenant } from '#support/service.ts';
import { synthesize } from '../../bin/local/synthesize.ts';
import { useLocalTable } from '../../bin/operator.ts';
import { type LoadClient, loadClientOf } from './load-client.ts';
import { startProvider } from './provider.ts';
import type { CallTimes } from './scripted-provider.ts';

// How busy a batch keeps its workers, and how soon the batches of other workspaces start meanwhile. Replies take
// log-normal times.
const options = new Command('npm run bench:batches --')
  .option('--requests <number>', 'requests of a batch', Number, 1000)
  .option('--mean <seconds>', 'mean time of a reply', Number, 2.7)
  .option('--workers <number>', 'the setting batchWorkers', Number)
  .option('--width <number>', 'the setting requestsPerWorker', Number)
  .option('--seed <number>', 'of the times', Number, 1)
  .option('--aws-time', 'give DynamoDB the latencies of AWS', false)
  .parse()
  .opts<{
    requests: number;
    mean: number;
    workers?: number;
    width?: number;
    seed: number;
    awsTime: boolean;
  }>();

/** The 99th percentile of the times, divided by their median. */
const p99OverMedian = 6.4;

const folder = await mkdtemp(join(tmpdir(), 'busy-batches-'));
const assembly = join(folder, 'assembly');
await synthesize(assembly, {
  ...(options.workers !== undefined && { batchWorkers: options.workers }),
  ...(options.width !== undefined && { requestsPerWorker: options.width }),
});
const slots = await slotsOfWorkspace(assembly);
const provider = await startProvider();
const run = await runTemplate({
  assembly,
  compileCacheFolder: compileCacheOf(assembly),
  dataDir: join(folder, 'data'),
  port: 0,
  environment: { OPENAI_BASE_URL: provider.url, OPENAI_API_KEY: 'bench' },
  recordCalls: true,
  ...(options.awsTime && { faults: awsTime }),
});
useLocalTable(run.outputs.DataTableName ?? '', run.endpoints.dynamodb);
const clients: LoadClient[] = [];

/** What the batches of one workspace may use at once. */
async function slotsOfWorkspace(assembly: string): Promise<{ workers: number; requests: number }> {
  const [file = ''] = (await readdir(assembly)).filter((name) => name.endsWith('.template.json'));
  const text = await readFile(join(assembly, file), 'utf8');
  const numberOf = (name: string): number => Number(new RegExp(`"${name}": "(\\d+)"`).exec(text)?.[1]);
  const workers = numberOf('BATCH_WORKSPACE_PLACES');
  return { workers, requests: workers * numberOf('REQUESTS_PER_WORKER') };
}

/** Of a new workspace. */
async function newClient(): Promise<LoadClient> {
  const { apiKey, agentId } = await createTenant({ model: 'openai:scripted' });
  const client = loadClientOf({ baseUrl: `${run.url}/v1`, apiKey, agentId });
  clients.push(client);
  return client;
}

const submit = async (client: LoadClient, name: string, count: number): Promise<string> => {
  const requests = Array.from({ length: count }, (_, index) => ({
    custom_id: `request-${index}`,
    message: `${name} ${index} `.padEnd(1000, 'x'),
  }));
  return (await client.submitBatch(requests)).id;
};

async function untilEnd(client: LoadClient, id: string): Promise<void> {
  while ((await client.readBatch(id)).status === 'in_progress') await after(500);
}

const setPace = (): Promise<void> =>
  provider.setPace({
    ...{ first: 0, chunk: 0 },
    logNormal: { mean: options.mean * 1000, p99OverMedian, seed: options.seed },
  });

const busyWorkers = (): number =>
  run.workers().filter(({ functionName, busy }) => busy && /ProcessBatchItems/.test(functionName)).length;

/** Waits until so many workers run. @returns epoch milliseconds */
async function untilWorkers(count: number): Promise<number> {
  while (busyWorkers() < count) await after(10);
  return Date.now();
}

async function measureBusy(): Promise<void> {
  const client = await newClient();
  await untilEnd(client, await submit(client, 'Warm', Math.min(2 * slots.requests, 1000)));
  await setPace();
  const before = run.dynamoCalls().length;
  const submitted = Date.now();
  const batch = submit(client, 'Busy', options.requests);
  const allRun = await untilWorkers(slots.workers);
  await untilEnd(client, await batch);
  const times = await provider.times();
  const ended = Math.max(...times.map(({ end }) => end));
  const lastStart = Math.max(...times.map(({ start }) => start));
  const work = times.reduce((sum, { given }) => sum + given, 0);
  const longest = Math.max(...times.map(({ given }) => given));
  const calls = run.dynamoCalls().slice(before);
  const unitsEach = (isSuccess: boolean): number =>
    calls
      .filter(({ status }) => (status === 200) === isSuccess)
      .reduce((sum, { consumed }) => sum + consumed.writeUnits, 0) / options.requests;
  console.log(
    JSON.stringify({
      ...{ slots, seed: options.seed, calls: times.length },
      seconds: {
        allWorkersRun: (allRun - submitted) / 1000,
        lastStart: (lastStart - submitted) / 1000,
        ended: (ended - submitted) / 1000,
        longest: longest / 1000,
      },
      busyShare: busyShare(times, allRun, lastStart),
      endOverIdeal: (ended - submitted) / (work / slots.requests + longest),
      writeUnitsEach: { succeeded: unitsEach(true), failed: unitsEach(false) },
    }),
  );
}

/** The share of the slots in which a request is with the model, on average between two times. */
function busyShare(times: readonly CallTimes[], from: number, to: number): number {
  const busy = times.reduce(
    (sum, { start, end }) => sum + Math.max(0, Math.min(end, to) - Math.max(start, from)),
    0,
  );
  return busy / ((to - from) * slots.requests);
}

/** Small batches of a second and a third workspace, while one and then two others have as many workers as they get. */
async function measureNeighbours(): Promise<void> {
  await setPace();
  const [first, second, third] = [await newClient(), await newClient(), await newClient()];
  await submit(first, 'First', 1000);
  await untilWorkers(slots.workers);
  await after(2000);
  const ofSecond = await secondsToStart(second, 'Small of the second');
  await submit(second, 'Second', 1000);
  await after(3000);
  const ofThird = await secondsToStart(third, 'Small of the third');
  console.log(JSON.stringify({ secondsToStart: { ofSecond, ofThird } }));
}

/** Seconds from the submission of a small batch until its first request is with the model. */
async function secondsToStart(client: LoadClient, name: string): Promise<number> {
  const submitted = Date.now();
  await submit(client, name, 10);
  for (;;) {
    const own = (await provider.times()).find(({ message }) => message.startsWith(name));
    if (own !== undefined) return (own.start - submitted) / 1000;
    await after(100);
  }
}

try {
  await measureBusy();
  await measureNeighbours();
} finally {
  for (const client of clients) client.close();
  await run.close();
  await provider.close();
  await rm(folder, { recursive: true, force: true });
}
