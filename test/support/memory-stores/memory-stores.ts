import type { StoreSettings, Stores } from '../open-stores.ts';
import { memoryIdempotencyStore } from './idempotency-store.ts';

/** Stores that keep everything in this process, for tests of decisions. They pass the same tests as DynamoDB's. */
export function memoryStores(_settings: StoreSettings): Stores {
  const idempotency = memoryIdempotencyStore();
  return { idempotency };
}
