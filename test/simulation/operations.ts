/** All that the world knows of the code that it runs: which ports it has, and which use case an operation calls. */

import { dynamoAgentStore } from '#adapters/dynamo/agents/agent-store.ts';
import { dynamoRequestEraser } from '#adapters/dynamo/batches/batch-requests.ts';
import { dynamoBatchStore, dynamoReconciliationIndex } from '#adapters/dynamo/batches/batch-store.ts';
import { dynamoChatDeletion } from '#adapters/dynamo/chats/chat-items.ts';
import { dynamoChatPages, dynamoChatStore, dynamoNewChatStore } from '#adapters/dynamo/chats/chat-store.ts';
import { dynamoFeedbackStore } from '#adapters/dynamo/chats/feedback-store.ts';
import { dynamoMessageStore } from '#adapters/dynamo/chats/message-store.ts';
import { dynamoChatTraces, dynamoPurgeOutbox } from '#adapters/dynamo/chats/purge-outbox.ts';
import { dynamoReplyEventStore } from '#adapters/dynamo/chats/reply-event-store.ts';
import { dynamoErasures, dynamoRetention } from '#adapters/dynamo/erasure/erasures.ts';
import { dynamoFileIndex } from '#adapters/dynamo/files/file-index.ts';
import { dynamoDeliveryStore } from '#adapters/dynamo/webhooks/delivery-store.ts';
import { auditBy } from '#adapters/dynamo/workspaces/api-key-store.ts';
import { dynamoIdempotencyStore } from '#adapters/dynamo/workspaces/request-store.ts';
import { dynamoUsageStore } from '#adapters/dynamo/workspaces/usage-store.ts';
import { dynamoWorkspaceStore } from '#adapters/dynamo/workspaces/workspace-store.ts';
import { aiAgentRuntime } from '#agents/agent-runtime.ts';
import type { ModelProvider } from '#agents/models/model-provider.ts';
import { agentDefinition } from '#contract/agent.ts';
import type { ListPage } from '#contract/pagination.ts';
import { parseLimits } from '#contract/rate-limits.ts';
import { advanceBatch, dispatchBatch } from '#domain/batches/advance-batch.ts';
import { wantsWebhook } from '#domain/batches/batch.ts';
import type { SlotMessage } from '#domain/batches/batch-store.ts';
import { cancelBatch, countBatch, findBatch, listBatchResults } from '#domain/batches/batches.ts';
import { createBatch } from '#domain/batches/create-batch.ts';
import { reconcileBatches } from '#domain/batches/reconcile-batches.ts';
import { workOnSlot } from '#domain/batches/worker.ts';
import {
  createChat,
  deleteChat,
  listMessages,
  recordFeedback,
  renameChat,
  stopReply,
} from '#domain/chats/chats.ts';
import { type ContentStore, messageId } from '#domain/chats/message.ts';
import { type Erasure, type Purge, requeuePurges } from '#domain/chats/purge.ts';
import { finishTurn, startTurn } from '#domain/chats/send-turn.ts';
import { type StopWatch, watchStops } from '#domain/chats/watch-stops.ts';
import { deleteUnusedChats } from '#domain/erasure/delete-unused-chats.ts';
import { runErasure } from '#domain/erasure/erase-person.ts';
import { purgeChat, requestErasure } from '#domain/erasure/erasure.ts';
import { deleteFile } from '#domain/files/attachments.ts';
import { type DeliveryProgress, deliverWebhook } from '#domain/webhooks/deliver-webhook.ts';
import type { WebhookResponse } from '#domain/webhooks/webhook.ts';
import { lazyPorts, type Process } from './process.ts';
import type { Queue } from './queue.ts';
import type { Workflow } from './workflow.ts';

export interface Settings {
  slots: number;
  requestsPerWorker: number;
  batchTimeout: number;
  lease: number;
}

/** What is outside of all processes, but for the table. */
export interface Outside {
  settings: Settings;
  queue: Queue<SlotMessage>;
  purges: Queue<Purge | Erasure>;
  workflow: Workflow;
  contents: ContentStore;
  /** The uuids of files whose bytes are stored. */
  objects: Set<string>;
  uuid(): string;
  providerOf(process: Process): ModelProvider;
  receive(url: string, body: string): WebhookResponse;
}

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
const nothing = () => undefined;
export const meter = {
  ...{ replied: nothing, modelFailed: nothing, modelRetried: nothing, requestsProcessed: nothing },
  ...{ batchEnded: nothing, webhookCalled: nothing, keyRejected: nothing, usageNotCounted: nothing },
};
const unreadable = { read: async () => ({ type: 'unreadable' as const, reason: 'is left out' }) };
const stageLimits = parseLimits(
  'reads=none,writes=none,sends=none,uploads=none,batches=none,open-batches=none',
);
const atOnce = async (): Promise<void> => undefined;

/** The ports of a process, as runtime/composition connects them. */
function makeServices(process: Process, outside: Outside) {
  const { table, clock } = process;
  const { settings } = outside;
  const audit = auditBy(clock, () => 'operator');
  const contents = () => outside.contents;
  const random = () => process.world.timeline.random();
  const stored = lazyPorts(process.world, {
    agents: () => dynamoAgentStore(table, audit),
    batches: () => dynamoBatchStore(table, clock),
    chatTraces: () => dynamoChatTraces(table, contents),
    chatDeletion: () => dynamoChatDeletion(table),
    chatPages: () => dynamoChatPages(table),
    chats: () => dynamoChatStore(table),
    deliveries: () => dynamoDeliveryStore(table, audit),
    erasures: () => dynamoErasures(table, clock),
    feedback: () => dynamoFeedbackStore(table),
    fileIndex: () => dynamoFileIndex(table),
    idempotency: () => dynamoIdempotencyStore(table),
    messages: () => dynamoMessageStore(table, contents),
    newChats: () => dynamoNewChatStore(table, clock),
    purgeOutbox: () => dynamoPurgeOutbox(table),
    reconciliationIndex: () => dynamoReconciliationIndex(table),
    requestEraser: () => dynamoRequestEraser(table),
    retention: () => dynamoRetention(table),
    replyEvents: () => dynamoReplyEventStore(table),
    usage: () => dynamoUsageStore(table, () => 400, outside.uuid),
    workspaces: () => dynamoWorkspaceStore(table, audit),
  });
  let stops: StopWatch | undefined;
  const others = {
    ...{ clock, random, log: silent, meter },
    get stops() {
      stops ??= watchStops({ chats: stored.chats, clock, log: silent });
      return stops;
    },
    agentRuntime: aiAgentRuntime({
      providers: { scripted: outside.providerOf(process) },
      ...{ clock, random, tools: [], attachments: () => unreadable, toolTimeout: 80_000 },
      ...{ onRetry: nothing, onRejected: nothing, onToolError: nothing, allow: async () => undefined },
    }),
    batchQueue: {
      send: (messages: readonly SlotMessage[], delay?: number) =>
        outside.queue.send(process, 'batchQueue.send', messages, delay),
      isFilled: () => process.call('batchQueue.isFilled', 'read', () => outside.queue.isFilled()),
    },
    purgeQueue: {
      send: (purges: readonly (Purge | Erasure)[]) => outside.purges.send(process, 'purgeQueue.send', purges),
    },
    files: {
      delete: ({ uuid }: { uuid: string }) =>
        process.call('files.delete', 'write', () => void outside.objects.delete(uuid)),
    } as never,
    preparedAttachments: { delete: atOnce } as never,
    batchWorkflow: outside.workflow.portOf(process),
    batchSettings: { timeout: settings.batchTimeout, item: 240_000 },
    queueSettings: { workspaceSlots: settings.slots, requestsPerWorker: settings.requestsPerWorker },
    replySettings: {
      ...{ streamTimeout: 90_000, lease: settings.lease, historyCharacters: 2000, attachedFiles: 2 },
      limits: { modelCalls: 8, toolUses: 8, toolsAtOnce: 4, replyBytes: 1_000_000 },
    },
    webhookSettings: { timeout: 15_000, retryDelays: [5000, 60_000, 300_000] },
    webhookSource: {
      get: async ({ workspaceId, batchId }: { workspaceId: string; batchId: string }) =>
        stored.batches.webhook({ workspaceId, id: batchId }),
    },
    secretCipher: { encrypt: async (secret: string) => secret, decrypt: async (secret: string) => secret },
    webhookSender: {
      rejectionOf: async () => null,
      post: (url: string, { body }: { body: string }) =>
        process.call('webhookSender.post', 'other', () => outside.receive(url, body)),
    },
    shares: { join: async () => atOnce },
    identifiers: {
      ...{ uuid: outside.uuid, workspaceId: outside.uuid, apiKey: outside.uuid, apiKeyId: outside.uuid },
    },
    rateLimits: { charge: nothing, writeCharges: atOnce } as never,
    stageLimits,
  };
  return Object.defineProperties(others, Object.getOwnPropertyDescriptors(stored)) as typeof others &
    typeof stored;
}

type Services = ReturnType<typeof makeServices>;

/** The operations that clients, operators and AWS call. Each call is of one process. */
export function operationsOf(outside: Outside) {
  const made = new WeakMap<Process, Services>();
  const of = (process: Process): Services => {
    const services = made.get(process) ?? makeServices(process, outside);
    made.set(process, services);
    return services;
  };
  return {
    ...clientOperations(of),
    ...traceOperations(of, outside.objects),
    ...batchOperations(of),
    ...repairs(of),
    ...operators(of),
  };
}

type Of = (process: Process) => Services;

const keyOf = (process: Process, workspaceId: string, hash: string) => ({
  ...{ workspaceId, hash, fingerprint: hash, at: process.clock.now().getTime() },
});

const clientOperations = (of: Of) => ({
  async createChat(
    process: Process,
    input: { workspaceId: string; agentId: string; name: string; externalUserId: string | undefined },
    key: string,
  ) {
    const client = keyOf(process, input.workspaceId, key);
    const gateway = keyOf(process, input.workspaceId, `gateway ${key}`);
    return (await createChat(of(process), input, { client, gateway }, atOnce)).chat;
  },

  /** Sends a message and returns the reply. */
  async send(
    process: Process,
    input: {
      workspaceId: string;
      chatId: number;
      agentId: string;
      message: string;
      attachedFileUuids?: string[];
      externalUserId: string | undefined;
      resumable: boolean;
    },
    { requestId, key }: { requestId: string; key: string | null },
  ): Promise<{ content: string; error: string | null }> {
    const services = of(process);
    const started = await startTurn(
      services,
      { attachedFileUuids: [], ...input, apiKeyId: 'key' },
      { requestId, key: key === null ? null : keyOf(process, input.workspaceId, key) },
      { awaitRateLimit: atOnce, deadline: () => 240_000 },
    );
    if ('reply' in started)
      return { content: started.reply.content, error: started.reply.error?.message ?? null };
    if (!('turn' in started)) return { content: '', error: 'running' };
    const sink = { emit: nothing, started: atOnce, done: nothing };
    const { reply, finished } = await finishTurn(services, started, sink);
    await finished;
    return { content: reply.content, error: reply.error?.message ?? null };
  },

  rename: (process: Process, input: ChatOf & { name: string }) => renameChat(of(process), input, atOnce),
  remove: (process: Process, input: ChatOf) => deleteChat(of(process), input, atOnce),
  stop: (process: Process, input: ChatOf) =>
    stopReply(of(process), { ...input, responseId: undefined }, atOnce),

  async history(process: Process, input: ChatOf) {
    const query = { ...input, externalUserId: input.externalUserId ?? 'anyone' };
    const { total, pages } = await listMessages(of(process), {
      ...query,
      ...{ limit: 1000, offset: 0, ascending: true },
    });
    return { total, messages: (await Array.fromAsync(pages)).flat().map(({ message }) => message) };
  },

  page: (
    process: Process,
    filter: { workspaceId: string; agentId?: string; externalUserId?: string },
    page: ListPage,
  ) => of(process).chatPages.page(filter, page),
});

/** What is done with files, ratings and unused chats. */
const traceOperations = (of: Of, objects: Set<string>) => ({
  async upload(process: Process, workspaceId: string, uuid: string): Promise<void> {
    objects.add(uuid);
    await of(process).fileIndex.put({
      ...{ uuid, workspaceId, name: 'a.txt', contentType: 'text/plain', size: 1, scope: 'persistent' },
      ...{ createdAt: process.clock.now().toISOString(), expiresAt: null },
    });
  },
  deleteUnused: (process: Process) => deleteUnusedChats(of(process)),
  async retain(process: Process, workspaceId: string, days: number): Promise<void> {
    await of(process).workspaces.update(workspaceId, { retentionDays: days });
  },
  removeFile: (process: Process, workspaceId: string, uuid: string) =>
    deleteFile(of(process), workspaceId, uuid),
  rate: (
    process: Process,
    input: { workspaceId: string; chatId: number; externalUserId: string; position: number },
  ) =>
    recordFeedback(
      of(process),
      {
        ...input,
        ...{ messageId: messageId(input.chatId, input.position), type: 'sys_helpful', content: null },
      },
      async () => undefined,
    ),
});

interface ChatOf {
  workspaceId: string;
  chatId: number;
  externalUserId: string | undefined;
}

export interface NewBatch {
  workspaceId: string;
  agentId: string;
  requests: {
    customId: string;
    message: string;
    historyId: number | null;
    externalUserId: string | null;
    files: string[];
  }[];
  webhook: boolean;
}

const batchOperations = (of: Of) => ({
  async createBatch(process: Process, { workspaceId, agentId, requests, webhook }: NewBatch, key: string) {
    const body = {
      agent_id: agentId,
      requests: requests.map(({ customId, message, historyId, externalUserId, files }) => ({
        ...{ custom_id: customId, message, attached_file_uuids: files },
        ...(historyId !== null && { history_id: historyId }),
        ...(externalUserId !== null && { external_user_id: externalUserId }),
      })),
      ...(webhook && {
        webhook: {
          url: `https://receiver.test/${key}`,
          events: ['completed' as const, 'failed' as const, 'cancelled' as const],
        },
      }),
    };
    const options = { key: keyOf(process, workspaceId, key), mostOpen: 20, takeTokens: atOnce };
    const input = { workspaceId, apiKeyId: 'key', body: body as never };
    return (await createBatch(of(process), input, options)).batch.id;
  },
  cancelBatch: (process: Process, workspaceId: string, batchId: string) =>
    cancelBatch(of(process), workspaceId, batchId, atOnce),

  async batch(process: Process, workspaceId: string, batchId: string) {
    const services = of(process);
    return countBatch(services, await findBatch(services, workspaceId, batchId));
  },

  async results(process: Process, workspaceId: string, batchId: string) {
    const query = { workspaceId, batchId, status: undefined, limit: 1000, offset: 0 };
    const { pages } = await listBatchResults(of(process), query);
    return (await Array.fromAsync(pages)).flat();
  },

  async work(process: Process, message: SlotMessage) {
    await workOnSlot(of(process), message);
    return true;
  },
});

const repairs = (of: Of) => ({
  dispatch: (process: Process, input: Parameters<typeof dispatchBatch>[1]) =>
    dispatchBatch(of(process), input),
  async advance(process: Process, input: { workspaceId: string; batchId: string }) {
    const { batch, stage } = await advanceBatch(of(process), input);
    return { stage, webhook: wantsWebhook(batch) };
  },
  deliver: (process: Process, input: { workspaceId: string; batchId: string }): Promise<DeliveryProgress> =>
    deliverWebhook(of(process), input),
  async reconcile(process: Process) {
    await Promise.all([reconcileBatches(of(process)), requeuePurges(of(process))]);
  },
  async purge(process: Process, purge: Purge | Erasure) {
    await ('chatId' in purge ? purgeChat(of(process), purge) : runErasure(of(process), purge));
    return true;
  },
});

const operators = (of: Of) => ({
  async createWorkspace(process: Process, id: string, titlesEnabled: boolean) {
    await of(process).workspaces.put({
      ...{ id, name: id, enabled: true, whitelistEnabled: false, titlesEnabled, openAiEnabled: false },
      ...{ retentionDays: null, limits: 'default', ownLimits: {} },
      createdAt: process.clock.now().toISOString(),
    });
  },
  async publish(process: Process, workspaceId: string, id: string) {
    const { agents } = of(process);
    const at = process.clock.now().toISOString();
    const definition = agentDefinition.parse({ name: id, llm_model: `scripted:${workspaceId}` });
    await agents.create({
      ...{ id, workspaceId, publishState: 'draft', newestVersion: 0, publishedVersionId: null, definition },
      ...{ publishedAt: null, createdAt: at, updatedAt: at, revision: 1 },
    });
    const agent = await agents.get(workspaceId, id);
    if (agent === undefined) throw new Error('The agent is missing');
    await agents.save(agent, {
      ...{ id: `version-of-${id}`, agentId: id, workspaceId, number: 1, definition },
      ...{ publishedAt: at, agentCreatedAt: at },
    });
  },
  erase: (process: Process, person: { workspaceId: string; externalUserId: string }) =>
    requestErasure(of(process), person, 'operator'),
  async enable(process: Process, workspaceId: string, enabled: boolean) {
    await of(process).workspaces.update(workspaceId, { enabled });
  },
  async callsCounted(process: Process, workspaceId: string): Promise<number> {
    const pages = await Array.fromAsync(of(process).usage.between(workspaceId, '2027-01-01', '2027-03-01'));
    return pages
      .flat()
      .flatMap(({ models }) => Object.values(models))
      .reduce((sum, { calls }) => sum + calls, 0);
  },
});

export type Operations = ReturnType<typeof operationsOf>;
