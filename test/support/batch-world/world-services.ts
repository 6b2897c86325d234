import { parseLimits } from '#contract/rate-limits.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import type { failBatch } from '#domain/batches/advance-batch.ts';
import type { createBatch } from '#domain/batches/create-batch.ts';
import type { reconcileBatches } from '#domain/batches/reconcile-batches.ts';
import type { workOnSlot } from '#domain/batches/worker.ts';
import type { StoredFile } from '#domain/files/files.ts';
import type { Clock } from '#domain/platform/services.ts';
import type { deliverWebhook } from '#domain/webhooks/deliver-webhook.ts';
import type { WebhookResponse } from '#domain/webhooks/webhook.ts';
import type { ManualClock } from '../manual-clock.ts';
import { sampleWorkspace } from '../memory-chat.ts';
import type { Stores } from '../open-stores.ts';
import type { memoryQueue } from './memory-queue.ts';
import type { memoryWorkflow } from './memory-workflow.ts';
import type { scriptedModel } from './scripted-model.ts';

const minute = 60_000;
const lease = 30_000;
const day = 24 * 60 * minute;

/** The settings of lib/settings.ts, but for few slots and workers, so that batches of some requests use all of them. */
export const defaults = { slots: 2, requestsPerWorker: 25, atOnce: 20, timeout: day, lease };
export type BatchSettings = typeof defaults;

/** What tests change and check. */
export type WorldState = ReturnType<typeof createState>;

export function createState() {
  return {
    workspace: sampleWorkspace('ws_1', '2027-01-01T00:00:00.000Z', { titlesEnabled: true }),
    whitelist: new Set<string>(),
    agents: new Set(['agent', 'other agent']),
    files: new Map<string, StoredFile>(),
    forbiddenUrls: new Map<string, string>(),
    endedBatches: [] as string[],
    /** The workspace has less than its share of the calls of receivers that have failed before. */
    hasWebhookSlot: true,
    calls: [] as { url: string; at: number; headers: Readonly<Record<string, string>>; body: string }[],
    receive: (_attempt: number): WebhookResponse | Error => ({ status: 200, retryAfter: null }),
    /** The reconciler runs every minute. */
    reconciles: true,
    /** Called after each write of a process. Returns whether the process dies now. */
    diesAfter: undefined as ((call: string) => boolean) | undefined,
  };
}

/** All that the use cases of batches and webhooks need. */
export type WorldServices = Parameters<typeof createBatch>[0] &
  Parameters<typeof workOnSlot>[0] &
  Parameters<typeof failBatch>[0] &
  Parameters<typeof reconcileBatches>[0] &
  Parameters<typeof deliverWebhook>[0];

interface WorldParts {
  settings: BatchSettings;
  clock: ManualClock;
  stores: Stores;
  queue: ReturnType<typeof memoryQueue>;
  workflow: ReturnType<typeof memoryWorkflow>;
  model: ReturnType<typeof scriptedModel>;
  state: WorldState;
}

export function createServices({ settings, clock, stores, queue, workflow, model, state }: WorldParts) {
  let ids = 0;
  const services = {
    ...stores,
    clock,
    random: Math.random,
    batchQueue: queue,
    batchWorkflow: workflow,
    agentRuntime: model.runtime,
    batchSettings: { timeout: settings.timeout, item: 4 * minute },
    queueSettings: { workspaceSlots: settings.slots, requestsPerWorker: settings.requestsPerWorker },
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
    fileIndex: {
      get: async (_workspaceId: string, uuid: string) => state.files.get(uuid),
      attach: async ({ uuid }: StoredFile) => state.files.has(uuid),
    },
    rateLimits: { charge: () => undefined, writeCharges: async () => undefined },
    stageLimits: noLimits,
    usage: { add: async () => undefined },
    identifiers: {
      uuid: () => {
        ids += 1;
        return `batch-${String(ids).padStart(3, '0')}`;
      },
    },
    secretCipher,
    webhookSender: webhookSenderOf(clock, state),
    shares: { join: async () => (state.hasWebhookSlot ? async () => undefined : undefined) },
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    meter: {
      ...{ replied: () => undefined, modelFailed: () => undefined, modelRetried: () => undefined },
      ...{ requestsProcessed: () => undefined, webhookCalled: () => undefined },
      ...{ keyRejected: () => undefined, usageNotCounted: () => undefined },
      batchEnded: (status: string) => void state.endedBatches.push(status),
    },
  };
  // Few methods of these stores are used, and only those are there.
  return services as unknown as WorldServices;
}

const noLimits = parseLimits('reads=none,writes=none,sends=none,uploads=none,batches=none,open-batches=none');

const agentVersion = (id: string): AgentVersion => ({
  ...{ id: `version of ${id}`, agentId: id, workspaceId: 'ws_1', number: 1 },
  ...{ publishedAt: '2027-01-01T00:00:00.000Z', agentCreatedAt: '2027-01-01T00:00:00.000Z' },
  definition: {
    ...{ name: id, description: '', agent_type: 'consultant', system_prompt: '', llm_model: 'openai:test' },
    ...{ unified_tools: [], suggested_questions: [], use_search: false, meta: {} },
  },
});

const secretCipher = {
  encrypt: async (secret: string, { batchId }: { batchId: string }) => `${secret} of ${batchId}`,
  async decrypt(encrypted: string, { batchId }: { batchId: string }) {
    if (!encrypted.endsWith(` of ${batchId}`)) throw new Error('The secret is that of another batch');
    return encrypted.slice(0, -` of ${batchId}`.length);
  },
};

const webhookSenderOf = (clock: Clock, state: WorldState) => ({
  rejectionOf: async (url: string) => state.forbiddenUrls.get(url) ?? null,
  async post(url: string, call: { headers: Readonly<Record<string, string>>; body: string }) {
    state.calls.push({ url, at: clock.now().getTime(), ...call });
    const response = state.receive(state.calls.length);
    if (response instanceof Error) throw response;
    return response;
  },
});
