import type { Table } from '#adapters/dynamo/table/table.ts';
import { dynamoIdempotencyStore } from '#adapters/dynamo/workspaces/idempotency-store.ts';
import type { StoreSettings, Stores } from './open-stores.ts';

/** The stores of production, on a table of an emulator. */
export function dynamoStores(table: Table, _settings: StoreSettings): Stores {
  return { idempotency: dynamoIdempotencyStore(table) };
}
