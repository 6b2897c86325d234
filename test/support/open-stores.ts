import { inject } from 'vitest';
import type { ContentStore } from '#domain/chats/message.ts';
import type { Clock } from '#domain/platform/services.ts';
import { dynamoStores, memoryStores } from './dynamo-stores.ts';
import { type ManualClock, manualClock } from './manual-clock.ts';
import { openTable } from './open-table.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The stores that the tests of test/stores examine. */
    stores: 'memory' | 'dynamodb';
  }
}

/** Seeds for tests with random steps. On a table, a seed takes 6 to 12 s. */
export const seeds = inject('stores') === 'memory' ? [1, 2, 3, 4] : [1];

export type Stores = ReturnType<typeof dynamoStores>;

/** What the stores take from the process. */
export interface StoreSettings {
  clock: Clock;
  /** Returns the name of the operator who makes a change, for the audit log. */
  actor: () => string;
  /** Texts that are too large for their items; in memory by default. */
  contents?: ContentStore;
}

/**
 * Opens the stores that this run of the tests examines: on a table in memory, on the emulator, or on the emulator at
 * `AWS_ENDPOINT_URL_DYNAMODB`.
 */
export async function openStores(): Promise<{ stores: Stores; clock: ManualClock; close(): Promise<void> }> {
  const clock = manualClock();
  const settings = { clock, actor: () => 'tester' };
  const close = async () => undefined;
  if (inject('stores') === 'memory') return { stores: memoryStores(settings), clock, close };
  const opened = await openTable(process.env.AWS_ENDPOINT_URL_DYNAMODB);
  return { stores: dynamoStores(opened.table, settings), clock, close: opened.close };
}
