/** The composition root: it connects ports to their adapters. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SFNClient } from '@aws-sdk/client-sfn';
import { SQSClient } from '@aws-sdk/client-sqs';
import { DEFAULT_MAX_ATTEMPTS } from '@smithy/core/retry';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { threadedTextExtractor } from '#adapters/documents/threaded-text-extractor.ts';
import { dynamoAgentReader, dynamoAgentStore } from '#adapters/dynamo/agents/agent-store.ts';
import { dynamoRequestEraser } from '#adapters/dynamo/batches/batch-requests.ts';
import { dynamoBatchStore, dynamoReconciliationIndex } from '#adapters/dynamo/batches/batch-store.ts';
import { dynamoChatDeletion } from '#adapters/dynamo/chats/chat-items.ts';
import { dynamoChatPages, dynamoChatStore, dynamoNewChatStore } from '#adapters/dynamo/chats/chat-store.ts';
import { dynamoFeedbackStore } from '#adapters/dynamo/chats/feedback-store.ts';
import { dynamoMessageStore } from '#adapters/dynamo/chats/message-store.ts';
import { dynamoChatTraces, dynamoPurgeOutbox } from '#adapters/dynamo/chats/purge-outbox.ts';
import { dynamoReplyEventStore } from '#adapters/dynamo/chats/reply-event-store.ts';
import { dynamoErasures, dynamoPersonTraces, dynamoRetention } from '#adapters/dynamo/erasure/erasures.ts';
import { dynamoFileIndex } from '#adapters/dynamo/files/file-index.ts';
import { itemClientSettings, optimizedClient } from '#adapters/dynamo/item-client/item-client.ts';
import { keyScanner } from '#adapters/dynamo/table/lists.ts';
import { dynamoTable, type Table } from '#adapters/dynamo/table/table.ts';
import { dynamoDeliveryStore } from '#adapters/dynamo/webhooks/delivery-store.ts';
import { auditBy, dynamoApiKeyStore, dynamoAuditLog } from '#adapters/dynamo/workspaces/api-key-store.ts';
import {
  dynamoIdempotencyStore,
  dynamoRateBucketStore,
  dynamoSlotReports,
} from '#adapters/dynamo/workspaces/request-store.ts';
import { dynamoPriceStore, dynamoUsageStore } from '#adapters/dynamo/workspaces/usage-store.ts';
import {
  dynamoToolSecretStore,
  dynamoWorkspaceDeletion,
  dynamoWorkspaceStore,
} from '#adapters/dynamo/workspaces/workspace-store.ts';
import { imageFitter } from '#adapters/images/fit-image.ts';
import { presignedPreparation } from '#adapters/prepared-attachments.ts';
import { sqsBatchQueue, sqsPurgeQueue, stepFunctionsBatchWorkflow } from '#adapters/queues.ts';
import { aiAgentRuntime } from '#agents/agent-runtime.ts';
import type { AgentRuntimeSettings } from '#agents/reply-loop.ts';
import type { HostAndPort } from '#contract/urls.ts';
import type { WebPages, WebSearch } from '#domain/agents/agents.ts';
import type { BatchServices } from '#domain/batches/batch-store.ts';
import type { ContentStore } from '#domain/chats/message.ts';
import type { ChatServices } from '#domain/chats/services.ts';
import { watchStops } from '#domain/chats/watch-stops.ts';
import type {
  AttachmentReader,
  FileStore,
  PreparationLeases,
  PreparedAttachments,
} from '#domain/files/files.ts';
import type { KnowledgeBase, KnowledgeStore } from '#domain/knowledge/knowledge.ts';
import { Shares } from '#domain/platform/shares.ts';
import type { ToolSecretCipher } from '#domain/tools/tool-secret.ts';
import type { SecretCipher, WebhookSender, WebhookServices } from '#domain/webhooks/webhook.ts';
import { authorizeRequest } from '#domain/workspaces/api-keys.ts';
import { openRateLimits } from '#domain/workspaces/rate-limits.ts';
import {
  clientTimeouts,
  DeadlineRetries,
  deferred,
  environment,
  lazily,
} from '#runtime/environment/environment.ts';
import { actor, clock, identifiers, processClock } from '#runtime/environment/invocation-context.ts';
import { log } from '#runtime/observability/log.ts';
import { meter } from '#runtime/observability/meter.ts';
import { agentTools, modelProviders } from './models-and-tools.ts';

const dynamoConnections = /* @__PURE__ */ lazily(() => new NodeHttpHandler(clientTimeouts));
const dynamoClient = (attempts: number): DynamoDBClient =>
  optimizedClient(
    new DynamoDBClient({
      ...itemClientSettings,
      requestHandler: dynamoConnections(),
      retryStrategy: new DeadlineRetries(attempts),
    }),
  );
const tableWith = (attempts: number): Table => dynamoTable(dynamoClient(attempts), environment('dataTable'));

const scanner = () => keyScanner(dynamoClient(6), environment('dataTable'));

/** Six attempts if a client waits, because a reply that cannot be stored is lost. */
const table = /* @__PURE__ */ lazily(() => tableWith(6));

/**
 * One for the process, so that all its requests share what is known of the buckets. Two attempts if a client waits: the
 * limiter lets requests pass if its bucket is unavailable.
 */
export const rateLimits = /* @__PURE__ */ lazily(() =>
  openRateLimits({ clock, log, rateBuckets: dynamoRateBucketStore(tableWith(2)) }),
);
export const shares = /* @__PURE__ */ lazily(
  () =>
    new Shares(
      { clock: processClock, log, reports: dynamoSlotReports(tableWith(2)) },
      identifiers.uuid(),
      (pool) => environment('poolSizes')[pool],
    ),
);
export const stageLimits = /* @__PURE__ */ lazily(() => environment('stageLimits'));

const objectStores = () => import('./object-stores.ts');
const contents = () => deferred<ContentStore>(async () => (await objectStores()).contents());
export const fileAddresses = () =>
  deferred<Pick<FileStore, 'address'>>(async () => (await objectStores()).files());
export const attachments = (leases?: PreparationLeases) =>
  deferred<AttachmentReader>(async () => (await objectStores()).attachments(shares(), leases));

const random = Math.random;
const audit = /* @__PURE__ */ auditBy(clock, actor);
export const auditLog = /* @__PURE__ */ lazily(() => dynamoAuditLog(table()));
export const workspaces = /* @__PURE__ */ lazily(() => dynamoWorkspaceStore(table(), audit));
export const workspaceDeletion = /* @__PURE__ */ lazily(() =>
  dynamoWorkspaceDeletion(table(), scanner(), auditBy(clock, actor, { inWorkspace: false })),
);
export const authorizer = /* @__PURE__ */ lazily(() =>
  authorizeRequest({
    ...{ apiKeys: apiKeys(), clock, log, meter },
    ...{ stageLimits: stageLimits(), workspaces: workspaces() },
  }),
);
export const usage = /* @__PURE__ */ lazily(() => dynamoUsageStore(table(), () => environment('usageDays')));
export const prices = /* @__PURE__ */ lazily(() => dynamoPriceStore(table(), audit));
export const apiKeys = /* @__PURE__ */ lazily(() => dynamoApiKeyStore(table(), audit));
export const agents = /* @__PURE__ */ lazily(() => dynamoAgentReader(table()));
export const agentStore = /* @__PURE__ */ lazily(() => dynamoAgentStore(table(), audit));
export const requestEraser = /* @__PURE__ */ lazily(() => dynamoRequestEraser(table()));
export const chatTraces = /* @__PURE__ */ lazily(() => dynamoChatTraces(table(), contents));
export const purgeOutbox = /* @__PURE__ */ lazily(() => dynamoPurgeOutbox(table()));
export const chatDeletion = /* @__PURE__ */ lazily(() => dynamoChatDeletion(table()));
export const retention = /* @__PURE__ */ lazily(() => dynamoRetention(table()));
export const erasures = /* @__PURE__ */ lazily(() => dynamoErasures(table(), clock));
export const personTraces = /* @__PURE__ */ lazily(() => dynamoPersonTraces(table(), scanner()));
export const chatPages = /* @__PURE__ */ lazily(() => dynamoChatPages(table()));
export const chats = /* @__PURE__ */ lazily(() => dynamoChatStore(table()));
export const stops = /* @__PURE__ */ lazily(() => watchStops({ chats: chats(), clock: processClock, log }));
export const newChats = /* @__PURE__ */ lazily(() => dynamoNewChatStore(table(), clock));
export const messages = /* @__PURE__ */ lazily(() => dynamoMessageStore(table(), contents));
/** For functions that write messages only to close abandoned turns of batches. */
export const turns = /* @__PURE__ */ lazily(
  (): Pick<ChatServices['messages'], 'putAndRelease'> =>
    dynamoMessageStore(table(), () => {
      throw new Error('This function does not read or store texts outside the table');
    }),
);
export const replyEvents = /* @__PURE__ */ lazily(() => dynamoReplyEventStore(table()));
export const fileIndex = /* @__PURE__ */ lazily(() => dynamoFileIndex(table()));
export const feedback = /* @__PURE__ */ lazily(() => dynamoFeedbackStore(table()));
export const replySettings = /* @__PURE__ */ lazily((): ChatServices['replySettings'] => ({
  streamTimeout: environment('streamTimeoutSeconds') * 1000,
  lease: environment('leaseSeconds') * 1000,
  historyCharacters: environment('historyCharacters'),
  attachedFiles: environment('attachedFiles'),
  limits: {
    modelCalls: environment('replyModelCalls'),
    toolUses: environment('replyToolUses'),
    toolsAtOnce: environment('replyToolsAtOnce'),
    replyBytes: environment('replyBytes'),
  },
}));
export const chatServices = /* @__PURE__ */ lazily(() => ({
  chats: chats(),
  clock,
  workspaces: workspaces(),
}));
/** For replies of agents, in chats and without. */
export const replyServices = /* @__PURE__ */ lazily(() => ({
  agents: agents(),
  clock,
  log,
  meter,
  replySettings: replySettings(),
  workspaces: workspaces(),
}));
const toolAdapters = () => import('./tool-adapters.ts');
const knowledgeStore = /* @__PURE__ */ lazily(async (): Promise<KnowledgeStore> => {
  const [{ makeKnowledge }, { indexObjects }] = await Promise.all([toolAdapters(), objectStores()]);
  return makeKnowledge(table(), audit, indexObjects());
});
export const knowledge = () => deferred(knowledgeStore);
export const knowledgeBase = () => deferred<KnowledgeBase>(async () => (await toolAdapters()).knowledgeBase);

/** For agentctl. The slowest known file of 50 MB takes 60 s. */
export const textExtractor = /* @__PURE__ */ lazily(() =>
  threadedTextExtractor({
    thread: new URL('../../adapters/documents/extraction-thread.ts', import.meta.url),
    milliseconds: 120_000,
    megabytes: 512,
  }),
);
/** Below the function's 60 s and 2,048 MB, so that it can usually report a harmful file before Lambda ends it. */
export const functionTextExtractor = /* @__PURE__ */ lazily(() =>
  threadedTextExtractor({
    thread: new URL('extraction-thread.mjs', import.meta.url),
    milliseconds: 50_000,
    megabytes: 1024,
  }),
);
export const preparation = /* @__PURE__ */ lazily(() =>
  presignedPreparation(new DeadlineRetries(DEFAULT_MAX_ATTEMPTS)),
);
export const webPages = () => deferred<WebPages>(async () => (await toolAdapters()).makeWebPages());
export const webSearch = /* @__PURE__ */ lazily(() => {
  const provider = environment('webSearchProvider');
  if (provider === undefined) return null;
  return deferred<WebSearch>(async () => (await toolAdapters()).webSearchWith(provider));
});
const remoteTools = () => import('./remote-tools.ts');
export const toolSecrets = () => dynamoToolSecretStore(table(), audit);
export const toolSecretCipher = /* @__PURE__ */ deferred<ToolSecretCipher>(
  async () => (await remoteTools()).toolSecretCipher,
);
/**
 * A caller that uses the pool closes it.
 * @param allow addresses that may be called although they are not public, in addition to those of the stage
 */
export const remoteSystems = async (allow: readonly HostAndPort[]) => {
  const { remoteServices, openMcpWith } = await remoteTools();
  const { http, checkTarget } = remoteServices(toolSecrets(), [...environment('toolAllow'), ...allow]);
  return { http, checkTarget, pool: http.openPool(), open: openMcpWith(http) };
};
export const erasureServices = /* @__PURE__ */ lazily(() => ({
  files: deferred<Pick<FileStore, 'delete'>>(async () => (await objectStores()).files()),
  preparedAttachments: deferred<Pick<PreparedAttachments, 'delete'>>(async () =>
    (await objectStores()).preparedAttachments(),
  ),
  batches: batches(),
  chatDeletion: chatDeletion(),
  chatPages: chatPages(),
  chatTraces: chatTraces(),
  clock,
  feedback: feedback(),
  fileIndex: fileIndex(),
  purgeOutbox: purgeOutbox(),
  requestEraser: requestEraser(),
}));
const showProviderErrors: AgentRuntimeSettings['onRejected'] = (call) => {
  if (environment('showProviderErrors') === undefined) return;
  void import('#runtime/observability/provider-errors.ts').then(({ sendProviderError }) =>
    sendProviderError(call),
  );
};
export const toolsWith = (readAttachments: () => AttachmentReader) =>
  agentTools({
    ...{ agents, knowledge, knowledgeBase, messages, toolSecrets, webPages, webSearch },
    attachments: readAttachments,
  });
const agentRuntimeWith = (attachments: () => AttachmentReader) =>
  aiAgentRuntime({
    providers: modelProviders(),
    attachments,
    tools: toolsWith(attachments),
    clock,
    random,
    // A reply may have no events while a tool runs, so a tool gets less than the idle timeout: 80 s of 90 s by default.
    toolTimeout: Math.floor((replySettings().streamTimeout * 8) / 9),
    allow: async () => undefined,
    onRetry: meter.modelRetried,
    onRejected: showProviderErrors,
    onToolError: (tool, error) => log.error('A tool failed', { tool, error }),
  });
export const agentRuntime = /* @__PURE__ */ lazily(() => agentRuntimeWith(attachments));
/** With leases, because workers may need the same new file at the same time. */
export const batchAgentRuntime = /* @__PURE__ */ lazily(() =>
  agentRuntimeWith(() => attachments(fileIndex())),
);
export const batches = /* @__PURE__ */ lazily(() => dynamoBatchStore(table(), clock));
export const reconciliationIndex = /* @__PURE__ */ lazily(() => dynamoReconciliationIndex(table()));
const clientSettings = () => ({
  requestHandler: clientTimeouts,
  retryStrategy: new DeadlineRetries(DEFAULT_MAX_ATTEMPTS),
});
const sqsClient = /* @__PURE__ */ lazily(
  () => new SQSClient({ ...clientSettings(), useQueueUrlAsEndpoint: false }),
);
export const batchQueue = /* @__PURE__ */ lazily(() =>
  sqsBatchQueue(sqsClient(), environment('batchQueueUrl')),
);
export const purgeQueue = /* @__PURE__ */ lazily(() =>
  sqsPurgeQueue(sqsClient(), environment('purgeQueueUrl')),
);
export const batchWorkflow = /* @__PURE__ */ lazily(() =>
  stepFunctionsBatchWorkflow(new SFNClient(clientSettings()), () => environment('batchWorkflowArn')),
);
export const batchSettings = /* @__PURE__ */ lazily((): BatchServices['batchSettings'] => ({
  timeout: environment('batchTimeoutSeconds') * 1000,
  item: environment('batchItemSeconds') * 1000,
}));
export const idempotency = /* @__PURE__ */ lazily(() => dynamoIdempotencyStore(table()));
export const queueSettings = /* @__PURE__ */ lazily((): BatchServices['queueSettings'] => ({
  workspaceSlots: environment('batchWorkspaceSlots'),
  requestsPerWorker: environment('requestsPerWorker'),
}));
export const queueServices = /* @__PURE__ */ lazily(() => ({
  batches: batches(),
  batchQueue: batchQueue(),
  batchWorkflow: batchWorkflow(),
  clock,
  queueSettings: queueSettings(),
}));
export const deliveries = /* @__PURE__ */ lazily(() => dynamoDeliveryStore(table(), audit));
export const webhookSettings = /* @__PURE__ */ lazily((): WebhookServices['webhookSettings'] => ({
  timeout: environment('webhookTimeoutSeconds') * 1000,
  retryDelays: environment('webhookRetrySeconds').map((seconds) => seconds * 1000),
}));
export const webhookSource: WebhookServices['webhookSource'] = {
  get: ({ workspaceId, batchId }) => batches().webhook({ workspaceId, id: batchId }),
};
const webhookClients = () => import('./webhook-clients.ts');
export const lazySecretCipher = /* @__PURE__ */ deferred<SecretCipher>(async () =>
  (await webhookClients()).secretCipher(),
);
export const lazyWebhookSender = /* @__PURE__ */ deferred<WebhookSender>(async () =>
  (await webhookClients()).webhookSender(),
);

export { clock, imageFitter, log, meter, random };
