import { dynamoBatchStore } from '#adapters/dynamo/batches/batch-store.ts';
import { dynamoReconciliationIndex } from '#adapters/dynamo/batches/reconciliation-index.ts';
import { dynamoChatStore } from '#adapters/dynamo/chats/chat-store.ts';
import { dynamoFeedbackStore } from '#adapters/dynamo/chats/feedback-store.ts';
import { dynamoMessageStore } from '#adapters/dynamo/chats/message-store.ts';
import type { Table } from '#adapters/dynamo/table/table.ts';
import { dynamoDeliveryStore } from '#adapters/dynamo/webhooks/delivery-store.ts';
import { auditBy } from '#adapters/dynamo/workspaces/audit-log.ts';
import { dynamoIdempotencyStore } from '#adapters/dynamo/workspaces/idempotency-store.ts';
import { memoryContentStore } from './memory-stores/content-store.ts';
import type { StoreSettings, Stores } from './open-stores.ts';
import { webhookSourceOf } from './webhook-source.ts';

/** The stores of production, on a table of an emulator. */
export function dynamoStores(table: Table, { clock, actor }: StoreSettings): Stores {
  const contents = memoryContentStore();
  const batches = dynamoBatchStore(table, clock);
  return {
    idempotency: dynamoIdempotencyStore(table),
    chats: dynamoChatStore(table, clock),
    messages: dynamoMessageStore(table, () => contents),
    feedback: dynamoFeedbackStore(table),
    batches,
    reconciliationIndex: dynamoReconciliationIndex(table),
    deliveries: dynamoDeliveryStore(table, auditBy(clock, actor)),
    webhookSource: webhookSourceOf(batches),
  };
}
