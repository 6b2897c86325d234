import type { StoreSettings, Stores } from '../open-stores.ts';
import { webhookSourceOf } from '../webhook-source.ts';
import { memoryBatchStore } from './batch-stores.ts';
import { memoryChatStores } from './chat-stores.ts';
import { memoryIdempotencyStore } from './idempotency-store.ts';
import { memoryReconciliationIndex } from './reconciliation-index.ts';
import { memoryDeliveryStore } from './webhook-stores.ts';

/** Stores that keep everything in this process, for tests of decisions. They pass the same tests as DynamoDB's. */
export function memoryStores({ clock }: StoreSettings): Stores {
  const idempotency = memoryIdempotencyStore();
  const { chats, messages, feedback, add } = memoryChatStores(clock, idempotency);
  const index = memoryReconciliationIndex();
  const deliveries = memoryDeliveryStore(index);
  const batches = memoryBatchStore({ clock, chats: { add }, deliveries, index });
  return {
    ...{ idempotency, chats, messages, feedback, batches },
    reconciliationIndex: index.reconciliationIndex,
    deliveries: deliveries.deliveries,
    webhookSource: webhookSourceOf(batches),
  };
}
