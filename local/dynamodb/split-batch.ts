import type { BatchEntry, DynamoRequest, Item, KeysOfTable } from './touched-items.ts';

export type RequestItems = NonNullable<DynamoRequest['RequestItems']>;
type OfTable = RequestItems[string];

const entriesOf = (requested: OfTable | undefined): readonly (BatchEntry | Item)[] =>
  requested && 'Keys' in requested ? requested.Keys : (requested ?? []);

/** The part of a batch for one table, with other keys or entries. Other fields, such as ConsistentRead, stay. */
const withEntries = (requested: OfTable, entries: readonly (BatchEntry | Item)[]): OfTable =>
  'Keys' in requested ? ({ ...requested, Keys: entries } as KeysOfTable) : (entries as readonly BatchEntry[]);

/** Separates the keys or entries of a batch that are rejected from the others. */
export function splitBatch(
  items: RequestItems,
  isRejected: (tableName: string, entry: BatchEntry | Item) => boolean,
): { accepted: RequestItems; rejected: RequestItems } {
  const accepted: Record<string, OfTable> = {};
  const rejected: Record<string, OfTable> = {};
  for (const [tableName, requested] of Object.entries(items)) {
    const parts = Map.groupBy(entriesOf(requested), (entry) =>
      isRejected(tableName, entry) ? rejected : accepted,
    );
    for (const [part, entries] of parts) part[tableName] = withEntries(requested, entries);
  }
  return { accepted, rejected };
}

/** All unprocessed parts of a batch: those that the emulator returned, and those that were not sent to it. */
export function mergeUnprocessed(
  fromEmulator: RequestItems | undefined,
  fromFaults: RequestItems,
): RequestItems {
  const merged: Record<string, OfTable> = { ...fromEmulator };
  for (const [name, added] of Object.entries(fromFaults))
    merged[name] = withEntries(added, [...entriesOf(merged[name]), ...entriesOf(added)]);
  return merged;
}
