import type { CreateBatchBody } from '#contract/routes/create-batch.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import { advanceBatch, failBatch } from '#domain/batches/advance-batch.ts';
import { type Batch, wantsWebhook } from '#domain/batches/batch.ts';
import { createBatch } from '#domain/batches/create-batch.ts';
import { dispatchBatch } from '#domain/batches/dispatch-batch.ts';
import { failBatchItems } from '#domain/batches/fail-batch-items.ts';
import { listBatchResults } from '#domain/batches/list-batch-results.ts';
import { processBatchItems } from '#domain/batches/process-batch-items.ts';
import { reconcileBatches } from '#domain/batches/reconcile-batches.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';
import { deliverWebhook } from '#domain/webhooks/deliver-webhook.ts';
import type { WebhookResponse } from '#domain/webhooks/webhook-sender.ts';
import type { Use } from '#domain/workspaces/usage.ts';
import type { Workspace } from '#domain/workspaces/workspace.ts';
import { manualClock } from '../manual-clock.ts';
import { memoryStores } from '../memory-stores/memory-stores.ts';
import { memoryQueue, type Workers } from './memory-queue.ts';
import { memoryWorkflow, type WorkflowFunctions } from './memory-workflow.ts';
import { type Killer, mortalServices } from './mortal-services.ts';
import { scriptedModel } from './scripted-model.ts';

const minute = 60_000;
const lease = 30_000;
const day = 24 * 60 * minute;

/** The settings of lib/settings.ts, but for few slots and workers, so that batches of some requests use all of them. */
export const defaults = { slots: 2, atOnce: 20, timeout: day, lease };
export type BatchSettings = typeof defaults;

const agentVersion = (id: string): AgentVersion => ({
  ...{ id: `version of ${id}`, agentId: id, workspaceId: 'ws_1', number: 1 },
  ...{ publishedAt: '2027-01-01T00:00:00.000Z', agentCreatedAt: '2027-01-01T00:00:00.000Z' },
  definition: {
    ...{ name: id, description: '', agent_type: 'consultant', system_prompt: '', llm_model: 'openai:test' },
    ...{ unified_tools: [], suggested_questions: [], use_search: false, meta: {} },
  },
});

type NewRequest = Partial<CreateBatchBody['requests'][number]>;

/** Everything that processes batches, in memory: real use cases and stores, and a clock that the test moves. */
export function batchWorld(given: Partial<BatchSettings> = {}) {
  const settings = { ...defaults, ...given };
  const clock = manualClock();
  const stores = memoryStores({ clock, actor: () => 'tester' });
  const queue = memoryQueue(clock);
  const workflow = memoryWorkflow(clock, { batchTimeout: settings.timeout, lease });
  const model = scriptedModel();
  const workspace: Workspace = {
    ...{ id: 'ws_1', name: 'Workspace', enabled: true, whitelistEnabled: false, titlesEnabled: true },
    ...{ limits: 'default', ownLimits: {}, createdAt: '2027-01-01T00:00:00.000Z' },
  };
  /** What tests change and check. */
  const state = {
    workspace,
    whitelist: new Set<string>(),
    agents: new Set(['agent', 'other agent']),
    files: new Map<string, StoredFile>(),
    forbiddenUrls: new Map<string, string>(),
    uses: [] as Use[],
    endedBatches: [] as string[],
    overdue: 0,
    errors: [] as unknown[],
    calls: [] as { url: string; at: number; headers: Readonly<Record<string, string>>; body: string }[],
    receive: (_attempt: number): WebhookResponse | Error => ({ status: 200, retryAfter: null }),
    /** The reconciler runs every minute. */
    reconciles: true,
    killer: null as Killer | null,
  };
  let ids = 0;
  const services = {
    ...stores,
    clock,
    batchQueue: queue,
    batchWorkflow: workflow,
    agentRuntime: model.runtime,
    batchSettings: { timeout: settings.timeout, item: 4 * minute },
    queueSettings: { workspaceSlots: settings.slots },
    webhookSettings: {
      timeout: 15_000,
      retryDelays: [5, 300, 1800, 7200, 18_000, 36_000, 36_000].map((seconds) => seconds * 1000),
    },
    replySettings: {
      ...{ streamTimeout: 90_000, lease, historyCharacters: 60_000, attachedFiles: 2 },
      limits: { modelCalls: 8, toolUses: 8, toolsAtOnce: 4, replyBytes: 1_000_000 },
    },
    agents: {
      published: async (_workspaceId: string, id: string) =>
        state.agents.has(id) ? agentVersion(id) : undefined,
    },
    workspaces: {
      get: async (id: string) => (id === state.workspace.id ? state.workspace : undefined),
      isListed: async (_workspaceId: string, user: string) => state.whitelist.has(user),
    },
    fileIndex: { get: async (_workspaceId: string, uuid: string) => state.files.get(uuid) },
    usage: { add: async (use: Use) => void state.uses.push(use) },
    identifiers: {
      uuid: () => {
        ids += 1;
        return `batch-${String(ids).padStart(3, '0')}`;
      },
    },
    secretCipher: {
      encrypt: async (secret: string, { batchId }: { batchId: string }) => `${secret} of ${batchId}`,
      async decrypt(encrypted: string, { batchId }: { batchId: string }) {
        if (!encrypted.endsWith(` of ${batchId}`)) throw new Error('The secret is that of another batch');
        return encrypted.slice(0, -` of ${batchId}`.length);
      },
    },
    webhookSender: {
      rejectionOf: async (url: string) => state.forbiddenUrls.get(url) ?? null,
      async post(url: string, call: { headers: Readonly<Record<string, string>>; body: string }) {
        state.calls.push({ url, at: clock.now().getTime(), ...call });
        const response = state.receive(state.calls.length);
        if (response instanceof Error) throw response;
        return response;
      },
    },
    log: {
      info: () => undefined,
      warn: () => undefined,
      error: (_message: string, fields?: Record<string, unknown>) => void state.errors.push(fields?.error),
    },
    meter: {
      ...{ replied: () => undefined, modelFailed: () => undefined, modelRetried: () => undefined },
      ...{ requestsWorked: () => undefined, webhookCalled: () => undefined },
      ...{ keyRejected: () => undefined, usageNotCounted: () => undefined },
      batchEnded: (status: string) => void state.endedBatches.push(status),
    },
  };
  type AllServices = Parameters<typeof createBatch>[0] &
    Parameters<typeof processBatchItems>[0] &
    Parameters<typeof reconcileBatches>[0] &
    Parameters<typeof deliverWebhook>[0];
  // Few methods of these stores are used, and only those are there.
  const all = services as unknown as AllServices;

  /** Calls a use case as one process, which may die. @throws Error if it died */
  const invoke = async <Result>(call: (ports: AllServices) => Promise<Result>): Promise<Result> => {
    if (state.killer === null) return call(all);
    const process = mortalServices(all, state.killer);
    const result = await call(process.services);
    if (process.isDead()) throw new Error('The process has died');
    return result;
  };
  const succeeds = async (call: (ports: AllServices) => Promise<boolean>): Promise<boolean> => {
    try {
      return await invoke(call);
    } catch {
      return false;
    }
  };

  const workers: Workers = {
    process: (message, isRedelivered) =>
      succeeds((ports) => processBatchItems(ports)(message, isRedelivered)),
    failDeadLetter: (message) =>
      succeeds(async (ports) => {
        await failBatchItems(ports)(message);
        return true;
      }),
  };
  const functions: WorkflowFunctions = {
    dispatch: (input) => invoke((ports) => dispatchBatch(ports)(input)),
    advance: (input) =>
      invoke(async (ports) => {
        const { batch, stage } = await advanceBatch(ports)(input);
        return { stage, webhook: wantsWebhook(batch) };
      }),
    fail: (input) => invoke(async (ports) => ({ webhook: wantsWebhook(await failBatch(ports)(input)) })),
    deliver: (input) => invoke((ports) => deliverWebhook(ports)(input)),
  };

  const reconcile = async (): Promise<void> => {
    try {
      state.overdue = (await invoke((ports) => reconcileBatches(ports)())).overdue;
    } catch {
      // The next run follows.
    }
  };
  let nextRun = clock.now().getTime() + minute;

  const read = async ({ workspaceId, id }: Pick<Batch, 'workspaceId' | 'id'>): Promise<Batch> => {
    const batch = await stores.batches.get(workspaceId, id);
    if (batch === undefined) throw new Error(`The batch ${id} is missing`);
    return batch;
  };

  const deliver = (atOnce = settings.atOnce): Promise<number> => queue.deliver(workers, atOnce);

  /** Does all that can be done now. */
  const run = async (): Promise<void> => {
    for (let round = 0; round < 10_000; round += 1)
      if ((await deliver()) + (await workflow.step(functions)) === 0) return;
    throw new Error('There is no end of the work');
  };

  return {
    ...{ clock, stores, queue, workflow, model, state, services: all, workers, functions },
    ...{ invoke, reconcile, read, deliver, run },

    /** @param requests their number, or what is special of each */
    async create(
      requests: number | readonly NewRequest[],
      { key = null, mostOpen = null, ...body }: CreateOptions = {},
    ): Promise<Batch> {
      const list: readonly NewRequest[] =
        typeof requests === 'number' ? Array.from({ length: requests }, () => ({})) : requests;
      const input = {
        ...{ workspaceId: 'ws_1', apiKeyId: 'key' },
        body: bodyOf(list, body),
      };
      return (await invoke((ports) => createBatch(ports)(input, { key, mostOpen }))).batch;
    },

    /** Moves the clock while the work goes on. */
    async advanceDuring<Result>(work: Promise<Result>, milliseconds = 250): Promise<Result> {
      let isDone = false;
      const end = () => {
        isDone = true;
      };
      work.then(end, end);
      for (await clock.advance(0); !isDone; ) await clock.advance(milliseconds);
      return work;
    },

    /** Goes on, with a reconciler each minute, until the condition holds. */
    async runUntil(isDone: () => boolean | Promise<boolean>, hours = 1): Promise<void> {
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
    },

    /** All results of a batch, in pages of the given size. */
    async results(batch: Batch, limit = 1000) {
      const found = [];
      for (let offset = 0; ; offset += limit) {
        const query = { workspaceId: batch.workspaceId, batchId: batch.id, status: undefined, limit, offset };
        const { total, pages } = await listBatchResults(all)(query);
        for await (const page of pages) found.push(...page);
        if (found.length >= total) return found;
      }
    },
  };
}

type CreateOptions = Partial<Parameters<ReturnType<typeof createBatch>>[1]> &
  Partial<Pick<CreateBatchBody, 'agent_id' | 'webhook'>>;

export const bodyOf = (
  requests: readonly NewRequest[],
  changes: Partial<Pick<CreateBatchBody, 'agent_id' | 'webhook'>> = {},
): CreateBatchBody => ({
  agent_id: 'agent',
  requests: requests.map((request, position) => ({
    ...{ custom_id: `request ${position}`, message: `Question ${position}`, attached_file_uuids: [] },
    ...request,
  })),
  ...changes,
});

export type BatchWorld = ReturnType<typeof batchWorld>;
