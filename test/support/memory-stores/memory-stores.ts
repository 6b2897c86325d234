import type { StoreSettings, Stores } from '../open-stores.ts';
import { memoryChatStores } from './chat-stores.ts';
import { memoryIdempotencyStore } from './idempotency-store.ts';

/** Stores that keep everything in this process, for tests of decisions. They pass the same tests as DynamoDB's. */
export function memoryStores({ clock }: StoreSettings): Stores {
  const idempotency = memoryIdempotencyStore();
  const { chats, messages, feedback } = memoryChatStores(clock, idempotency);
  return { idempotency, chats, messages, feedback };
}
