import type { CreateBatchBody } from '#contract/routes/batches.ts';
import type { Batch } from '#domain/batches/batch.ts';
import { listBatchResults } from '#domain/batches/batches.ts';
import { createBatch } from '#domain/batches/create-batch.ts';
import { reconcileBatches } from '#domain/batches/reconcile-batches.ts';
import { dynamoStores } from '../dynamo-stores.ts';
import { manualClock, watchEnd } from '../manual-clock.ts';
import { MemoryTable } from '../memory-table/memory-table.ts';
import { openMemoryTable } from '../memory-table/open-memory-table.ts';
import { memoryQueue } from './memory-queue.ts';
import { memoryWorkflow } from './memory-workflow.ts';
import { createProcesses } from './processes.ts';
import { scriptedModel } from './scripted-model.ts';
import { type BatchSettings, createServices, createState, defaults } from './world-services.ts';

const minute = 60_000;

/** Every batch is within the rate limit. */
const takeTokens = async (): Promise<void> => {};

type NewRequest = Partial<CreateBatchBody['requests'][number]>;

/** Everything that processes batches, in memory: real use cases and stores, and a clock that the test moves. */
export function batchWorld(given: Partial<BatchSettings> = {}) {
  const settings = { ...defaults, ...given };
  const clock = manualClock();
  const table = openMemoryTable(new MemoryTable(() => clock.now().getTime()), async () => undefined);
  const stores = dynamoStores(table, { clock, actor: () => 'tester' });
  const queue = memoryQueue(clock);
  const workflow = memoryWorkflow(clock, { batchTimeout: settings.timeout, lease: settings.lease });
  const model = scriptedModel();
  const state = createState();
  const services = createServices({ settings, clock, stores, queue, workflow, model, state });
  const { invoke, work, functions } = createProcesses(services, state);

  // If it fails, the next run follows.
  const reconcile = (): Promise<unknown> => invoke((ports) => reconcileBatches(ports)).catch(() => undefined);
  let nextRun = clock.now().getTime() + minute;

  const read = async ({ workspaceId, id }: Pick<Batch, 'workspaceId' | 'id'>): Promise<Batch> => {
    const batch = await stores.batches.get(workspaceId, id);
    if (batch === undefined) throw new Error(`The batch ${id} is missing`);
    return batch;
  };

  const deliver = (atOnce = settings.atOnce): Promise<number> => queue.deliver(work, atOnce);

  /** Moves the clock while the work goes on. */
  const advanceDuring = async <Result>(work: Promise<Result>, milliseconds = 250): Promise<Result> => {
    const end = watchEnd(work);
    for (await clock.advance(0); !end.isReached; ) await clock.advance(milliseconds);
    return work;
  };

  /** Does all that can be done now. Requests that wait in their places take their time. */
  const run = async (): Promise<void> => {
    for (let round = 0; round < 10_000; round += 1)
      if ((await advanceDuring(deliver())) + (await workflow.step(functions)) === 0) return;
    throw new Error('There is no end of the work');
  };

  /** Goes on, with a reconciler each minute, until the condition holds. */
  const runUntil = async (isDone: () => boolean | Promise<boolean>, hours = 1): Promise<void> => {
    const end = clock.now().getTime() + hours * 60 * minute;
    for (;;) {
      await run();
      if (await isDone()) return;
      const next = Math.min(queue.nextTime(), workflow.nextTime(), state.reconciles ? nextRun : Infinity);
      if (next > end) throw new Error(`It is not done after ${hours} hours`);
      await clock.advance(Math.max(next - clock.now().getTime(), 0));
      if (!state.reconciles || clock.now().getTime() < nextRun) continue;
      nextRun = clock.now().getTime() + minute;
      await reconcile();
    }
  };

  return {
    ...{ clock, stores, queue, workflow, model, state, services, functions },
    ...{ reconcile, read, deliver, run, advanceDuring },

    /** @param requests their number, or what is special of each */
    async create(requests: number | readonly NewRequest[], options: CreateOptions = {}): Promise<Batch> {
      const { key = null, mostOpen = null, ...fields } = options;
      const input = { workspaceId: 'ws_1', apiKeyId: 'key', body: bodyOf(requests, fields) };
      return (await createBatch(services, input, { key, mostOpen, takeTokens })).batch;
    },

    runUntil,
    /** Goes on until the batch is completed. */
    untilEnd: (batch: Batch, hours?: number) =>
      runUntil(async () => (await read(batch)).status === 'completed', hours),
    /** A chat that requests continue: the first has the id 1. */
    createHistory: () =>
      stores.chats.create({
        ...{ workspaceId: 'ws_1', agentId: 'agent', name: 'History', externalUserId: null },
      }),

    async results({ workspaceId, id: batchId }: Batch) {
      const query = { workspaceId, batchId, status: undefined, limit: 1000, offset: 0 };
      return (await Array.fromAsync((await listBatchResults(services, query)).pages)).flat();
    },
  };
}

const bodyOf = (
  requests: number | readonly NewRequest[],
  fields: Omit<CreateOptions, 'key' | 'mostOpen'>,
): CreateBatchBody => ({
  agent_id: 'agent',
  requests: Array.from({ length: typeof requests === 'number' ? requests : requests.length }, (_, index) => ({
    ...{ custom_id: `request ${index}`, message: `Question ${index}`, attached_file_uuids: [] },
    ...(typeof requests !== 'number' && requests[index]),
  })),
  ...fields,
});

type CreateOptions = Partial<Pick<Parameters<typeof createBatch>[2], 'key' | 'mostOpen'>> &
  Partial<Pick<CreateBatchBody, 'agent_id' | 'webhook'>>;

export type BatchWorld = ReturnType<typeof batchWorld>;
