import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { useLocalTable } from '../../../bin/operator.ts';
import { processTree } from '../process-tree.ts';
import { startScriptedModel } from '../scripted-model.ts';
import { seededRandom } from '../seeded-random.ts';
import { createTenant } from '../service.ts';
import type { StoresOfRun } from '../stored/snapshot.ts';
import { storedProblems } from '../stored/stored-problems.ts';
import { startWebhookReceiver, status, type WebhookReceiver } from '../webhook-receiver.ts';
import { type MemorySample, type MemoryTrend, trendOf } from './memory-trend.ts';
import { doBatch, type SoakBatches } from './soak-batches.ts';
import { SoakLog } from './soak-log.ts';
import { respondByWishes } from './soak-model.ts';
import { SoakUser, type SoakWorld } from './soak-user.ts';
import { type SoakService, startSoakService } from './start-soak-service.ts';

export interface SoakOptions {
  assembly: string;
  seed: number;
  seconds: number;
  /** Who do one thing after the other; a third as many submit batches beside them. */
  users: number;
  /** Between two kills, seconds. */
  killEvery: number;
  /** Before memory is looked at, seconds: threads start, caches fill. */
  warmUp: number;
  /** Until all that is under way has ended, seconds at most. */
  closing: number;
  /** What is done with all that was kept, when it has been looked at. */
  upstream?: (stores: StoresOfRun) => Promise<void>;
}

export interface SoakReport {
  seed: number;
  seconds: number;
  /** By what was done: how often, and milliseconds. */
  done: Record<string, { count: number; median: number; slowest: number }>;
  /** By function: how often its threads were killed, and how many. */
  kills: Record<string, { times: number; threads: number }>;
  modelFailures: number;
  batches: SoakBatches;
  webhooks: { calls: number; rejected: number; events: number };
  /** By part, behind the warm-up. */
  memory: Record<string, MemoryTrend>;
  /** Of all functions, the most that there were at once. */
  threads: number;
  /** Answers that a kill had cut off, and that were asked for again. */
  excused: Record<string, number>;
  unexpected: string[];
  /** What AWS would not have let the functions do. */
  violations: string[];
  /** What was wrong with what the service had kept in the end. */
  problems: string[];
}

/** What a kill may meet. Others answer clients before anything is stored, who would have to ask again. */
const killed = [
  ...['ProcessBatchItems', 'ProcessBatchItems', 'ProcessBatchItems', 'SendMessage', 'SendMessage'],
  ...['DispatchBatch', 'AdvanceBatch', 'DeliverWebhook', 'ReconcileBatches', 'List', 'GetBatch'],
];

/** Waits between two things that somebody does, milliseconds at most. */
const pause = 400;

/**
 * Mixed load on a local run while functions are killed, the model fails and webhooks are refused; and then a look at
 * everything that was kept.
 */
export async function runSoak(options: SoakOptions): Promise<SoakReport> {
  const random = seededRandom(options.seed);
  const folder = await mkdtemp(join(tmpdir(), 'soak-'));
  const model = await startScriptedModel();
  const { failed } = respondByWishes(model, random);
  const receiver = await startWebhookReceiver();
  let rejected = 0;
  receiver.responses.push((response, call, number) => {
    const code = random() < 0.2 ? 500 : 200;
    if (code === 500) rejected += 1;
    status(code)(response, call, number);
  });
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
    let markers = 0;
    const world: SoakWorld = {
      service,
      log,
      random,
      marker: () => {
        markers += 1;
        return `#${options.seed.toString(36)}-${markers}#`;
      },
    };
    const tenants = [
      await createTenant({ model: 'openai:test' }),
      await createTenant({ model: 'openai:test', titles: false, whitelist: ['user-1', 'user-3', 'user-5'] }),
    ] as const;
    const end = performance.now() + options.seconds * 1000;
    const hasEnded = (): boolean => performance.now() > end;
    const batches: SoakBatches = { submitted: 0, requests: 0, cancelled: 0, webhooks: 0 };
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
    const [threads] = await Promise.all([
      sampleMemory(service, samples, { hasEnded, warmUp: options.warmUp, seconds: options.seconds }),
      ...users.map((user) => repeat(() => user.act())),
      ...Array.from({ length: Math.ceil(options.users / 3) }, () =>
        repeat(() => log.note('batch', () => doBatch(world, tenants[0], receiver, batches))),
      ),
      killFunctions(service, log, { every: options.killEvery, hasEnded, random }),
    ]);
    const problems = await finalProblems(service, options.closing);
    const { violations } = await service.check();
    await options.upstream?.(service.stores);
    return {
      seed: options.seed,
      seconds: options.seconds,
      done: log.table(),
      kills: killsOf(log),
      modelFailures: failed(),
      batches,
      webhooks: { calls: receiver.calls.length, rejected, events: checkEvents(receiver, batches, log) },
      memory: Object.fromEntries([...samples].map(([part, taken]) => [part, trendOf(taken)])),
      threads,
      excused: log.excused,
      unexpected: log.unexpected,
      violations,
      problems,
    };
  } finally {
    await service.close();
    await Promise.all([model.close(), receiver.close()]);
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function killFunctions(
  service: SoakService,
  log: SoakLog,
  { every, hasEnded, random }: { every: number; hasEnded: () => boolean; random: () => number },
): Promise<void> {
  while (!hasEnded()) {
    await sleep(every * (0.5 + random()) * 1000);
    const prefix = killed[Math.floor(random() * killed.length)] ?? '';
    const kill = { prefix, from: performance.now(), until: Number.POSITIVE_INFINITY, threads: 0 };
    log.kills.push(kill);
    kill.threads = await service.kill(prefix);
    kill.until = performance.now();
  }
}

/** @returns the most threads that there were */
async function sampleMemory(
  service: SoakService,
  samples: Map<string, MemorySample[]>,
  { hasEnded, warmUp, seconds }: { hasEnded: () => boolean; warmUp: number; seconds: number },
): Promise<number> {
  const start = performance.now();
  const every = Math.min(Math.max(seconds / 200, 1), 5);
  let most = 0;
  while (!hasEnded()) {
    await sleep(every * 1000);
    const at = (performance.now() - start) / 1000;
    if (at < warmUp) continue;
    const [[runner, ...emulator], { heap, threads }] = await Promise.all([
      processTree(service.pid),
      service.check(),
    ]);
    most = Math.max(most, threads);
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
  return most;
}

/** What is still wrong when nothing goes on any more. */
async function finalProblems(service: SoakService, seconds: number): Promise<string[]> {
  const end = performance.now() + seconds * 1000;
  for (;;) {
    const problems = await storedProblems(service.stores);
    if (problems.length === 0 || performance.now() > end) return problems;
    await sleep(1000);
  }
}

/** Each batch with a webhook told of its end, under one id and in the same words, however often. */
function checkEvents(receiver: WebhookReceiver, batches: SoakBatches, log: SoakLog): number {
  const text = Map.groupBy(receiver.calls, ({ payload }) => payload.data.id);
  for (const [id, calls] of text) {
    const events = new Set(calls.map(({ headers }) => headers['x-service-event-id']));
    const bodies = new Set(calls.map(({ body }) => body));
    if (events.size !== 1 || bodies.size !== 1)
      log.unexpected.push(`The batch ${id} told its end as ${events.size} events in ${bodies.size} forms`);
  }
  if (text.size !== batches.webhooks)
    log.unexpected.push(`${text.size} batches told their end, not ${batches.webhooks}`);
  return text.size;
}

function killsOf({ kills }: SoakLog): SoakReport['kills'] {
  const all: SoakReport['kills'] = {};
  for (const { prefix, threads } of kills) {
    const { times = 0, threads: before = 0 } = all[prefix] ?? {};
    all[prefix] = { times: times + 1, threads: before + threads };
  }
  return all;
}
