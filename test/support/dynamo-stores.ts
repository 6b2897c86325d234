import { dynamoChatStore } from '#adapters/dynamo/chats/chat-store.ts';
import { dynamoFeedbackStore } from '#adapters/dynamo/chats/feedback-store.ts';
import { dynamoMessageStore } from '#adapters/dynamo/chats/message-store.ts';
import type { Table } from '#adapters/dynamo/table/table.ts';
import { dynamoIdempotencyStore } from '#adapters/dynamo/workspaces/idempotency-store.ts';
import { memoryContentStore } from './memory-stores/content-store.ts';
import type { StoreSettings, Stores } from './open-stores.ts';

/** The stores of production, on a table of an emulator. */
export function dynamoStores(table: Table, { clock }: StoreSettings): Stores {
  const contents = memoryContentStore();
  return {
    idempotency: dynamoIdempotencyStore(table),
    chats: dynamoChatStore(table, clock),
    messages: dynamoMessageStore(table, () => contents),
    feedback: dynamoFeedbackStore(table),
  };
}
