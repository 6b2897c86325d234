import type { BatchEntry, DynamoRequest, Item, KeysOfTable } from './touched-items.ts';

export type RequestItems = NonNullable<DynamoRequest['RequestItems']>;
type OfTable = RequestItems[string];

const entriesOf = (requested: OfTable | undefined): readonly (BatchEntry | Item)[] =>
  requested && 'Keys' in requested ? requested.Keys : (requested ?? []);

const withEntries = (requested: OfTable, entries: readonly (BatchEntry | Item)[]): OfTable =>
  'Keys' in requested ? ({ ...requested, Keys: entries } as KeysOfTable) : (entries as readonly BatchEntry[]);

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

export function mergeUnprocessed(
  fromEmulator: RequestItems | undefined,
  fromFaults: RequestItems,
): RequestItems {
  const merged: Record<string, OfTable> = { ...fromEmulator };
  for (const [name, added] of Object.entries(fromFaults))
    merged[name] = withEntries(added, [...entriesOf(merged[name]), ...entriesOf(added)]);
  return merged;
}
