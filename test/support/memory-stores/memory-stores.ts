import type { StoreSettings, Stores } from '../open-stores.ts';
import { webhookSourceOf } from '../webhook-source.ts';
import { memoryAgentStore } from './agent-stores.ts';
import { memoryBatchStore } from './batch-stores.ts';
import { memoryChatStores } from './chat-stores.ts';
import { memoryChatUses } from './chat-uses.ts';
import { memoryFileStores } from './file-stores.ts';
import { memoryIdempotencyStore } from './idempotency-store.ts';
import { memoryKnowledgeStore } from './knowledge-stores.ts';
import { memoryReconciliationIndex } from './reconciliation-index.ts';
import { memoryReplyEventStore } from './reply-event-store.ts';
import { memoryDeliveryStore } from './webhook-stores.ts';
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
  const { add, allChats, ...chatStores } = memoryChatStores(settings.clock, idempotency, registeredIn);
  const index = memoryReconciliationIndex();
  const { deliveries, ...deliveryWrites } = memoryDeliveryStore(index, audit);
  const { erase, ofUser, replaceWebhook, ...batches } = memoryBatchStore({
    clock: settings.clock,
    chats: { add },
    deliveries: deliveryWrites,
    index,
  });
  const workspaces = memoryWorkspaceStore(audit);
  return {
    agents: memoryAgentStore(audit),
    apiKeys: memoryApiKeyStore(audit),
    auditLog,
    batches,
    chatUses: memoryChatUses({ allChats, batches, workspaces }),
    deliveries: {
      ...deliveries,
      async replaceWebhook(owner, read, replacement) {
        const isReplaced = await replaceWebhook(owner, read, replacement);
        const { workspaceId, batchId } = owner;
        if (isReplaced)
          audit({ action: 'webhook secret replaced', workspaceId, target: batchId, changes: {} });
        return isReplaced;
      },
    },
    idempotency,
    knowledge: memoryKnowledgeStore(audit),
    ...chatStores,
    ...fileStores,
    rateBuckets: memoryRateBucketStore(),
    reconciliationIndex: index.reconciliationIndex,
    requestEraser: { erase, ofUser, forget: async () => undefined },
    replyEvents: memoryReplyEventStore(),
    usage: memoryUsageStore(),
    webhookSource: webhookSourceOf(batches),
    workspaces,
  };
}
