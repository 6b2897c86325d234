import { leadingKeys } from './needed-permissions.ts';
import {
  type BatchEntry,
  type DynamoRequest,
  type Item,
  type KeysOfTable,
  type TableShape,
  type TouchedItem,
  touchedItems,
} from './touched-items.ts';

export type RequestItems = NonNullable<DynamoRequest['RequestItems']>;

/** One entry of a BatchWriteItem. The item is undefined if its table is not in the template. */
export interface BatchWrite {
  readonly tableName: string;
  readonly entry: BatchEntry;
  readonly item: TouchedItem | undefined;
}

/** One key of a BatchGetItem. */
export interface BatchRead {
  readonly tableName: string;
  readonly key: Item;
  /** The other fields of the request for the key's table, such as ConsistentRead. */
  readonly fields: object;
  readonly partition: string;
}

export function batchWrites(request: DynamoRequest, shapes: ReadonlyMap<string, TableShape>): BatchWrite[] {
  return Object.entries(request.RequestItems ?? {}).flatMap(([tableName, entries]) =>
    (entries as readonly BatchEntry[]).map((entry) => {
      const [item] = touchedItems('BatchWriteItem', { RequestItems: { [tableName]: [entry] } }, shapes);
      return { tableName, entry, item };
    }),
  );
}

export function writesByTable(writes: readonly BatchWrite[]): RequestItems {
  const entries: Record<string, BatchEntry[]> = {};
  for (const { tableName, entry } of writes) entries[tableName] = [...(entries[tableName] ?? []), entry];
  return entries;
}

export function batchReads(request: DynamoRequest, shapes: ReadonlyMap<string, TableShape>): BatchRead[] {
  return Object.entries(request.RequestItems ?? {}).flatMap(([tableName, requested]) => {
    const { Keys, ...fields } = requested as KeysOfTable;
    return Keys.map((key) => {
      const [value] = leadingKeys({ TableName: tableName, Key: key }, tableName, shapes.get(tableName));
      return { tableName, key, fields, partition: `${tableName}||${value}` };
    });
  });
}

export function readsByTable(reads: readonly BatchRead[]): RequestItems {
  const keys: Record<string, KeysOfTable> = {};
  for (const { tableName, key, fields } of reads)
    keys[tableName] = { ...fields, Keys: [...(keys[tableName]?.Keys ?? []), key] };
  return keys;
}

/** What the emulator has left unprocessed, together with what has not reached it. */
export function mergeUnprocessed(
  fromEmulator: RequestItems | undefined,
  fromFaults: RequestItems,
): RequestItems {
  const merged: Record<string, RequestItems[string]> = { ...fromEmulator };
  for (const [name, added] of Object.entries(fromFaults)) {
    const before = merged[name];
    merged[name] =
      'Keys' in added
        ? { ...added, Keys: [...((before as KeysOfTable | undefined)?.Keys ?? []), ...added.Keys] }
        : [...((before as readonly BatchEntry[] | undefined) ?? []), ...added];
  }
  return merged;
}
