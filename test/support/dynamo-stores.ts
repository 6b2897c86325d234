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
import { dynamoKnowledgeTable } from '#adapters/dynamo/knowledge/knowledge-table.ts';
import type { Table } from '#adapters/dynamo/table/table.ts';
import { dynamoDeliveryStore } from '#adapters/dynamo/webhooks/delivery-store.ts';
import { auditBy, dynamoApiKeyStore, dynamoAuditLog } from '#adapters/dynamo/workspaces/api-key-store.ts';
import { dynamoIdempotencyStore, dynamoRateBucketStore } from '#adapters/dynamo/workspaces/request-store.ts';
import { dynamoUsageStore } from '#adapters/dynamo/workspaces/usage-store.ts';
import { dynamoWorkspaceStore } from '#adapters/dynamo/workspaces/workspace-store.ts';
import { knowledgeStore } from '#adapters/knowledge/knowledge-store.ts';
import { memoryContentStore, memoryIndexObjects } from './memory-objects.ts';
import { openMemoryTable } from './memory-table/open-memory-table.ts';
import type { StoreSettings } from './open-stores.ts';
import { sampleTextWorker } from './sample-text-worker.ts';

/** The stores of production, on a table of an emulator or in memory. */
export function dynamoStores(table: Table, { clock, actor, contents = memoryContentStore() }: StoreSettings) {
  const audit = auditBy(clock, actor);
  const batches = dynamoBatchStore(table, clock);
  return {
    agents: dynamoAgentStore(table, audit),
    apiKeys: dynamoApiKeyStore(table, audit),
    auditLog: dynamoAuditLog(table),
    batches,
    chats: {
      ...dynamoChatStore(table),
      ...dynamoChatPages(table),
      ...dynamoNewChatStore(table, clock),
      ...dynamoChatDeletion(table),
    },
    deliveries: dynamoDeliveryStore(table, audit),
    chatTraces: dynamoChatTraces(table, () => contents),
    erasures: dynamoErasures(table, clock),
    feedback: dynamoFeedbackStore(table),
    fileIndex: dynamoFileIndex(table),
    idempotency: dynamoIdempotencyStore(table),
    knowledge: knowledgeStore(dynamoKnowledgeTable(table, audit), memoryIndexObjects(), sampleTextWorker()),
    messages: dynamoMessageStore(table, () => contents),
    purgeOutbox: dynamoPurgeOutbox(table),
    rateBuckets: dynamoRateBucketStore(table),
    reconciliationIndex: dynamoReconciliationIndex(table),
    requestEraser: dynamoRequestEraser(table),
    retention: dynamoRetention(table),
    replyEvents: dynamoReplyEventStore(table),
    usage: dynamoUsageStore(table, () => 400),
    webhookSource: {
      get: ({ workspaceId, batchId }: { workspaceId: string; batchId: string }) =>
        batches.webhook({ workspaceId, id: batchId }),
    },
    workspaces: dynamoWorkspaceStore(table, audit),
  };
}

/** The stores of production, on a table in this process. */
export const memoryStores = (settings: StoreSettings) => dynamoStores(openMemoryTable(), settings);
