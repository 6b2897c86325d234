import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { useLocalTable } from '../../../bin/operator.ts';
import { functionIds } from '../entry-points.ts';
import { processTree } from '../process-tree.ts';
import { startScriptedModel } from '../scripted-model.ts';
import { seededRandom } from '../seeded-random.ts';
import { createTenant } from '../service.ts';
import type { StoresOfRun } from '../stored/snapshot.ts';
import { storedProblems } from '../stored/stored-problems.ts';
import { startWebhookReceiver, status, type WebhookReceiver } from '../webhook-receiver.ts';
import { doBatch, type SoakBatches } from './soak-batches.ts';
import { SoakLog } from './soak-log.ts';
import { respondAsRequested } from './soak-model.ts';
import { SoakUser, type SoakWorld } from './soak-user.ts';
import { type SoakService, startSoakService } from './start-soak-service.ts';

export interface SoakOptions {
  assembly: string;
  seed: number;
  /** How long the load lasts at least. */
  seconds: number;
  /** The number of users, who do one action after the other. Further users, a third as many, submit batches. */
  users: number;
  /** Seconds between two kills. */
  killEvery: number;
  /** Seconds before memory is measured: threads start and caches fill. */
  warmUp: number;
  /** Seconds at most until everything in progress has ended. */
  closing: number;
  /** Called with the stores after they were checked. */
  afterCheck?: (stores: StoresOfRun) => Promise<void>;
}

/**
 * The functions that are killed. After the death of any other function its client would have to send the request again,
 * because nothing is stored that another function could finish.
 */
const killed = [
  'ProcessBatchItems',
  'ProcessBatchItems',
  'ProcessBatchItems',
  functionIds['send-message'],
  functionIds['send-message'],
  ...['DispatchBatch', 'AdvanceBatch', 'DeliverWebhook', 'ReconcileBatches', 'List', 'GetBatch'],
];

/** The longest pause between two actions of a user, in milliseconds. */
const pause = 400;

/**
 * Runs mixed load on a local run while functions are killed, the model fails and webhooks are rejected. Then it checks
 * everything that was stored.
 */
export async function runSoak(options: SoakOptions) {
  const random = seededRandom(options.seed);
  const folder = await mkdtemp(join(tmpdir(), 'soak-'));
  const model = await startScriptedModel();
  const { failed } = respondAsRequested(model, random);
  const receiver = await startWebhookReceiver();
  const { rejected } = rejectSomeWebhooks(receiver, random);
  const service = await startSoakService({
    assembly: options.assembly,
    dataDir: join(folder, 'data'),
    maxConcurrency: 8,
    environment: {
      OPENAI_BASE_URL: model.url,
      LEASE_SECONDS: '3',
      WEBHOOK_RETRY_SECONDS: Array(30).fill(1).join(','),
    },
  });
  const log = new SoakLog();
  try {
    useLocalTable(service.stores.outputs.DataTableName ?? '', service.stores.endpoints.dynamodb);
    const world = { service, log, random, marker: createMarkers(options.seed) };
    const { batches, samples } = await runLoad(world, receiver, options);
    const problems = await finalProblems(service, options.closing);
    const { violations } = await service.check();
    await options.afterCheck?.(service.stores);
    const events = checkEvents(receiver, batches, log);
    return {
      done: log.done,
      kills: log.kills.length,
      modelFailures: failed(),
      batches,
      webhooks: { calls: receiver.calls.length, rejected: rejected(), events },
      /** By part of the service, after the warm-up. */
      memory: Object.fromEntries([...samples].map(([part, taken]) => [part, trendOf(taken)])),
      /** By kind: requests that were retried because a kill may have caused their failure. */
      excused: log.excused,
      unexpected: log.unexpected,
      /** What functions did although AWS would not have allowed it. */
      violations,
      /** Problems in what the service had stored at the end. */
      problems,
    };
  } finally {
    await service.close();
    await Promise.all([model.close(), receiver.close()]);
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** One delivery in five is rejected. */
function rejectSomeWebhooks(receiver: WebhookReceiver, random: () => number): { rejected: () => number } {
  let rejected = 0;
  receiver.responses.push((response, call, number) => {
    const code = random() < 0.2 ? 500 : 200;
    if (code === 500) rejected += 1;
    status(code)(response, call, number);
  });
  return { rejected: () => rejected };
}

function createMarkers(seed: number): () => string {
  let markers = 0;
  return () => {
    markers += 1;
    return `#${seed.toString(36)}-${markers}#`;
  };
}

/** Users chat and submit batches while functions are killed and memory is measured. */
async function runLoad(
  world: SoakWorld & { service: SoakService },
  receiver: WebhookReceiver,
  options: SoakOptions,
) {
  const { service, log, random } = world;
  const tenants = [
    await createTenant({ model: 'openai:test' }),
    await createTenant({ model: 'openai:test', titles: false, whitelist: ['user-1', 'user-3', 'user-5'] }),
  ] as const;
  const batches: SoakBatches = { submitted: 0, requests: 0, cancelled: 0, webhooks: 0 };
  const end = performance.now() + options.seconds * 1000;
  // On a slow machine the load lasts until a reply was streamed and a batch submitted.
  const hasEnded = (): boolean =>
    performance.now() > end && 'streamed reply' in log.done && batches.submitted > 0;
  const repeat = async (work: () => Promise<void>): Promise<void> => {
    while (!hasEnded()) {
      await work();
      await sleep(random() * pause);
    }
  };
  const users = Array.from(
    { length: options.users },
    (_, index) => new SoakUser(world, tenants[index % 2 === 0 ? 0 : 1], `user-${index}`),
  );
  const samples = new Map<string, MemorySample[]>();
  await Promise.all([
    sampleMemory(service, samples, { hasEnded, warmUp: options.warmUp, seconds: options.seconds }),
    ...users.map((user) => repeat(() => user.act())),
    ...Array.from({ length: Math.ceil(options.users / 3) }, () =>
      repeat(() => log.record('batch', () => doBatch(world, tenants[0], receiver, batches))),
    ),
    killFunctions(service, log, { every: options.killEvery, hasEnded, random }),
  ]);
  return { batches, samples };
}

async function killFunctions(
  service: SoakService,
  log: SoakLog,
  { every, hasEnded, random }: { every: number; hasEnded: () => boolean; random: () => number },
): Promise<void> {
  while (!hasEnded()) {
    await sleep(every * (0.5 + random()) * 1000);
    const prefix = killed[Math.floor(random() * killed.length)] ?? '';
    const kill = { prefix, from: performance.now(), until: Number.POSITIVE_INFINITY };
    log.kills.push(kill);
    await service.kill(prefix);
    kill.until = performance.now();
  }
}

async function sampleMemory(
  service: SoakService,
  samples: Map<string, MemorySample[]>,
  { hasEnded, warmUp, seconds }: { hasEnded: () => boolean; warmUp: number; seconds: number },
): Promise<void> {
  const start = performance.now();
  const every = Math.min(Math.max(seconds / 200, 1), 5);
  while (!hasEnded()) {
    await sleep(every * 1000);
    const at = (performance.now() - start) / 1000;
    if (at < warmUp) continue;
    const [[runner, ...emulator], { heap }] = await Promise.all([processTree(service.pid), service.check()]);
    const all = {
      'the runner with all functions': runner?.residentBytes ?? 0,
      "the runner's own objects": heap,
      'the engine of DynamoDB': emulator.reduce((sum, { residentBytes }) => sum + residentBytes, 0),
    };
    for (const [part, bytes] of Object.entries(all)) {
      const taken = samples.get(part) ?? [];
      taken.push({ at, bytes });
      samples.set(part, taken);
    }
  }
}

/** The problems that remain when nothing is in progress any more, or after so many seconds. */
async function finalProblems(service: SoakService, seconds: number): Promise<string[]> {
  const end = performance.now() + seconds * 1000;
  for (;;) {
    const problems = await storedProblems(service.stores);
    if (problems.length === 0 || performance.now() > end) return problems;
    await sleep(1000);
  }
}

/** Checks that each batch with a webhook has sent its event, and that all attempts have the same event id and body. */
function checkEvents(receiver: WebhookReceiver, batches: SoakBatches, log: SoakLog): number {
  const callsByBatch = Map.groupBy(receiver.calls, ({ payload }) => payload.data.id);
  for (const [id, calls] of callsByBatch) {
    const events = new Set(calls.map(({ headers }) => headers['x-service-event-id']));
    const bodies = new Set(calls.map(({ body }) => body));
    if (events.size !== 1 || bodies.size !== 1)
      log.unexpected.push(
        `The batch ${id} sent ${events.size} event ids with ${bodies.size} different bodies`,
      );
  }
  if (callsByBatch.size !== batches.webhooks)
    log.unexpected.push(`${callsByBatch.size} batches sent their event, not ${batches.webhooks}`);
  return callsByBatch.size;
}

/** The memory of a part of the service at one time. */
interface MemorySample {
  /** Seconds since the start. */
  at: number;
  bytes: number;
}

/** The trend of samples in megabytes and hours: a linear fit by least squares. */
function trendOf(samples: readonly MemorySample[]) {
  const count = samples.length;
  const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / (count || 1);
  const times = samples.map(({ at }) => at / 3600);
  const sizes = samples.map(({ bytes }) => bytes / 1e6);
  const [time, size] = [mean(times), mean(sizes)];
  const variance = times.reduce((sum, at) => sum + (at - time) ** 2, 0);
  const covariance = times.reduce((sum, at, index) => sum + (at - time) * ((sizes[index] ?? 0) - size), 0);
  const slope = variance === 0 ? 0 : covariance / variance;
  const hours = count === 0 ? 0 : Math.max(...times) - Math.min(...times);
  return {
    mean: size,
    most: Math.max(0, ...sizes),
    slope,
    /** Growth over the measured time by the slope, as a share of the mean. */
    growth: size === 0 ? 0 : (slope * hours) / size,
  };
}
