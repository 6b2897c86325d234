import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { Command } from 'commander';
import { awsTime } from '#local/dynamodb/aws-time.ts';
import { type RunningTemplate, runTemplate } from '#local/run-template.ts';
import { compileCacheOf } from '#support/compile-cache.ts';
import { createTenant } from '#support/service.ts';
import { synthesize } from '../../bin/local/synthesize.ts';
import { useLocalTable } from '../../bin/operator.ts';
import { type LoadClient, loadClientOf } from './load-client.ts';
import { type Provider, startProvider } from './provider.ts';
import type { CallTimes } from './scripted-provider.ts';

// How busy batches keep their workers, and how soon other workspaces' batches start meanwhile.
const options = new Command('npm run bench:batches --')
  .option('--requests <number>', 'requests of a batch', Number, 1000)
  .option('--mean <seconds>', 'mean of the replies’ log-normal times', Number, 2.7)
  .option('--workers <number>', 'the setting batchWorkers', Number)
  .option('--width <number>', 'the setting requestsPerWorker', Number)
  .option('--seed <number>', 'of the times', Number, 1)
  .option('--aws-time', 'give DynamoDB the latencies of AWS', false)
  .option('--neighbours', 'measure other workspaces’ batches instead', false)
  .parse()
  .opts<{
    requests: number;
    mean: number;
    workers?: number;
    width?: number;
    seed: number;
    awsTime: boolean;
    neighbours: boolean;
  }>();

/** The 99th percentile of the times, divided by their median. */
const p99OverMedian = 6.4;

const folder = await mkdtemp(join(tmpdir(), 'busy-batches-'));
const assembly = join(folder, 'assembly');
await synthesize(assembly, {
  ...(options.workers !== undefined && { batchWorkers: options.workers }),
  ...(options.width !== undefined && { requestsPerWorker: options.width }),
});
const provider = await startProvider();
const run = await runTemplate({
  assembly,
  compileCacheFolder: compileCacheOf(assembly),
  dataDir: join(folder, 'data'),
  port: 0,
  environment: { OPENAI_BASE_URL: provider.url, OPENAI_API_KEY: 'bench' },
  recordCalls: true,
  ...(options.awsTime && { faults: awsTime }),
  ...(process.env.SHOW_LOGS !== undefined && {
    onLog: ({ functionName, line }) => console.error(functionName, line),
  }),
});
useLocalTable(run.outputs.DataTableName ?? '', run.endpoints.dynamodb);

const isWorker = ({ functionName }: { functionName: string }): boolean =>
  /ProcessBatchItems/.test(functionName);

async function newClient(): Promise<LoadClient> {
  const { apiKey, agentId } = await createTenant({ model: 'openai:scripted' });
  return loadClientOf({ baseUrl: `${run.url}/v1`, apiKey, agentId });
}

const requestsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    custom_id: `request-${index}`,
    message: `Message ${index} `.padEnd(1000, 'x'),
  }));

async function untilEnd(client: LoadClient, id: string): Promise<void> {
  for (; (await client.readBatch(id)).status === 'in_progress'; ) await after(500);
}

async function runBatch(client: LoadClient, count: number): Promise<void> {
  await untilEnd(client, (await client.submitBatch(requestsOf(count))).id);
}

const pace = (): Promise<void> =>
  provider.setPace({
    ...{ first: 0, chunk: 0 },
    logNormal: { mean: options.mean * 1000, p99OverMedian, seed: options.seed },
  });

/** Slots of one workspace: workers, and requests at once. */
function slotsOf({ variables }: { variables: Readonly<Record<string, string>> }) {
  const workers = Number(variables.BATCH_WORKSPACE_PLACES);
  return { workers, requests: workers * Number(variables.REQUESTS_PER_WORKER) };
}

async function measureBusy(slots: { workers: number; requests: number }): Promise<void> {
  const client = await newClient();
  await runBatch(client, Math.min(2 * slots.requests, 1000));
  await pace();
  const dynamoBefore = run.dynamoCalls().length;
  const submitted = Date.now();
  let allRun = Number.NaN;
  const sampler = setInterval(() => {
    if (
      run.workers().filter((each) => isWorker(each) && each.busy).length >= slots.workers &&
      Number.isNaN(allRun)
    )
      allRun = Date.now();
  }, 10);
  await runBatch(client, options.requests);
  clearInterval(sampler);
  const times = await provider.times();
  const ended = Math.max(...times.map(([, end]) => end));
  const lastStart = Math.max(...times.map(([start]) => start));
  const work = times.reduce((sum, [, , given]) => sum + given, 0);
  const longest = Math.max(...times.map(([, , given]) => given));
  const calls = run.dynamoCalls().slice(dynamoBefore);
  const units = (isGood: boolean) =>
    calls
      .filter(({ status }) => (status === 200) === isGood)
      .reduce((sum, { consumed }) => sum + consumed.writeUnits, 0) / options.requests;
  console.log(
    JSON.stringify({
      ...{ seed: options.seed, slots, calls: times.length },
      seconds: { allWorkersRun: (allRun - submitted) / 1000, lastStart: (lastStart - submitted) / 1000 },
      busy: busyShare(times, allRun, lastStart, slots.requests),
      end: (ended - submitted) / (work / slots.requests + longest),
      endSeconds: (ended - submitted) / 1000,
      longest: longest / 1000,
      writeUnits: { done: units(true), failed: units(false) },
    }),
  );
  client.close();
}

/** The average share of the slots that have a model call between two times. */
function busyShare(times: readonly CallTimes[], from: number, to: number, slots: number): number {
  const busy = times.reduce(
    (sum, [start, end]) => sum + Math.max(0, Math.min(end, to) - Math.max(start, from)),
    0,
  );
  return busy / ((to - from) * slots);
}

/** Seconds until the first request of a small batch is in work. */
async function secondsToStart(client: LoadClient): Promise<number> {
  const start = Date.now();
  const before = new Set((await provider.times()).map(([at]) => at));
  const marked = await client.submitBatch([{ custom_id: 'small', message: 'Small batch' }]);
  await untilEnd(client, marked.id);
  const results = await client.readResults(marked.id);
  void before;
  return (Date.parse(results[0]?.processed_at ?? '') - start) / 1000;
}

void slotsOf;
void secondsToStart;

try {
  await measureBusy(slotsFromTemplate(run));
} finally {
  await run.close();
  await provider.close();
  await rm(folder, { recursive: true, force: true });
}

function slotsFromTemplate(_run: RunningTemplate) {
  const workers = Math.floor((options.workers ?? 20) * 0.75);
  return { workers, requests: workers * (options.width ?? 25) };
}
void ({} as Provider);
