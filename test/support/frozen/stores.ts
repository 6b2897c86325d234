import { dynamoAgentStore } from '#adapters/dynamo/agents/agent-store.ts';
import { dynamoBatchStore } from '#adapters/dynamo/batches/batch-store.ts';
import { dynamoChatDeletion } from '#adapters/dynamo/chats/chat-items.ts';
import { dynamoChatPages, dynamoChatStore, dynamoNewChatStore } from '#adapters/dynamo/chats/chat-store.ts';
import { dynamoFeedbackStore } from '#adapters/dynamo/chats/feedback-store.ts';
import { dynamoMessageStore } from '#adapters/dynamo/chats/message-store.ts';
import { dynamoPurgeOutbox } from '#adapters/dynamo/chats/purge-outbox.ts';
import { dynamoReplyEventStore } from '#adapters/dynamo/chats/reply-event-store.ts';
import { dynamoFileIndex } from '#adapters/dynamo/files/file-index.ts';
import { dynamoKnowledgeTable } from '#adapters/dynamo/knowledge/knowledge-table.ts';
import type { Table } from '#adapters/dynamo/table/table.ts';
import { dynamoDeliveryStore } from '#adapters/dynamo/webhooks/delivery-store.ts';
import { auditBy, dynamoApiKeyStore, dynamoAuditLog } from '#adapters/dynamo/workspaces/api-key-store.ts';
import { dynamoIdempotencyStore, dynamoRateBucketStore } from '#adapters/dynamo/workspaces/request-store.ts';
import { dynamoUsageStore } from '#adapters/dynamo/workspaces/usage-store.ts';
import { dynamoWorkspaceStore } from '#adapters/dynamo/workspaces/workspace-store.ts';
import type { ContentStore } from '#domain/chats/message.ts';
import type { Clock } from '#domain/platform/services.ts';
import { start } from './entities.ts';

const clock: Clock = {
  now: () => new Date(start),
  after: () => () => undefined,
  every: () => () => undefined,
};

/** Stores texts that are too large for their items, under names that are the same in every run. */
const contentsOf = (texts: Map<string, string>): ContentStore => ({
  async put({ workspaceId }, content) {
    const name = `contents/${workspaceId}/${texts.size + 1}`;
    texts.set(name, content);
    return name;
  },
  async get(name) {
    return texts.get(name) ?? '';
  },
  async getUpTo(name) {
    return texts.get(name) ?? '';
  },
  async delete(name) {
    texts.delete(name);
  },
  deleteOf: async () => undefined,
});

/**
 * The stores that write items, on one table, with a clock that does not move.
 * @param texts what is stored outside the table
 */
export function storesOn(table: Table, texts = new Map<string, string>()) {
  const audit = auditBy(clock, () => 'frozen operator');
  return {
    table,
    workspaces: dynamoWorkspaceStore(table, audit),
    apiKeys: dynamoApiKeyStore(table, audit),
    agents: dynamoAgentStore(table, audit),
    auditLog: dynamoAuditLog(table),
    chats: {
      ...dynamoChatStore(table),
      ...dynamoChatPages(table),
      ...dynamoNewChatStore(table, clock),
      ...dynamoChatDeletion(table),
    },
    replyEvents: dynamoReplyEventStore(table),
    purgeOutbox: dynamoPurgeOutbox(table),
    messages: dynamoMessageStore(table, () => contentsOf(texts)),
    feedback: dynamoFeedbackStore(table),
    files: dynamoFileIndex(table),
    knowledge: dynamoKnowledgeTable(table, audit),
    usage: dynamoUsageStore(
      table,
      () => 400,
      () => 'process_1',
    ),
    rateBuckets: dynamoRateBucketStore(table),
    idempotency: dynamoIdempotencyStore(table),
    batches: dynamoBatchStore(table, clock),
    deliveries: dynamoDeliveryStore(table, audit),
  };
}

export type Stores = ReturnType<typeof storesOn>;
