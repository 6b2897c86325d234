import { dynamoStores } from '../dynamo-stores.ts';
import { openMemoryTable } from '../memory-table/open-memory-table.ts';
import type { StoreSettings, Stores } from '../open-stores.ts';
import { memoryAgentStore } from './agent-stores.ts';
import { memoryChatStores } from './chat-stores.ts';
import { memoryFileStores } from './file-stores.ts';
import { memoryIdempotencyStore } from './idempotency-store.ts';
import { memoryKnowledgeStore } from './knowledge-stores.ts';
import { memoryReplyEventStore } from './reply-event-store.ts';
import {
  memoryApiKeyStore,
  memoryAuditLog,
  memoryRateBucketStore,
  memoryUsageStore,
  memoryWorkspaceStore,
} from './workspace-stores.ts';

/** Stores that keep everything in this process, for tests of decisions. They pass the same tests as DynamoDB's. */
export function memoryStores(settings: StoreSettings): Stores {
  const { audit, auditLog } = memoryAuditLog(settings);
  const idempotency = memoryIdempotencyStore();
  const { registeredIn, ...fileStores } = memoryFileStores();
  const {
    add: _add,
    allChats: _allChats,
    ...chatStores
  } = memoryChatStores(settings.clock, idempotency, registeredIn);
  // What batches store has no other implementation.
  const { batches, deliveries, reconciliationIndex, requestEraser, retention, webhookSource } = dynamoStores(
    openMemoryTable(),
    settings,
  );
  const workspaces = memoryWorkspaceStore(audit);
  return {
    agents: memoryAgentStore(audit),
    apiKeys: memoryApiKeyStore(audit),
    auditLog,
    batches,
    deliveries,
    idempotency,
    knowledge: memoryKnowledgeStore(audit),
    ...chatStores,
    ...fileStores,
    rateBuckets: memoryRateBucketStore(),
    reconciliationIndex,
    requestEraser,
    retention,
    replyEvents: memoryReplyEventStore(),
    usage: memoryUsageStore(),
    webhookSource,
    workspaces,
  };
}
