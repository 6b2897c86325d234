import type { StoreSettings, Stores } from '../open-stores.ts';
import { memoryAgentStore } from './agent-stores.ts';
import { memoryChatStores } from './chat-stores.ts';
import { memoryFileIndex } from './file-stores.ts';
import { memoryIdempotencyStore } from './idempotency-store.ts';
import { memoryKnowledgeStore } from './knowledge-stores.ts';
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
  const { chats, feedback, messages } = memoryChatStores(settings.clock, idempotency);
  return {
    agents: memoryAgentStore(audit),
    apiKeys: memoryApiKeyStore(audit),
    auditLog,
    chats,
    feedback,
    fileIndex: memoryFileIndex(),
    idempotency,
    knowledge: memoryKnowledgeStore(audit),
    messages,
    rateBuckets: memoryRateBucketStore(),
    usage: memoryUsageStore(),
    workspaces: memoryWorkspaceStore(audit),
  };
}
