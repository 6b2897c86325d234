import { leadingKeys } from './leading-keys.ts';
import type { DynamoRequest, TableShape } from './touched-items.ts';

/** The partitions from which a GetItem, Query or TransactGetItems reads, an index's apart from its table's. */
export function readPartitions(
  request: DynamoRequest & { readonly IndexName?: string },
  shapes: ReadonlyMap<string, TableShape>,
): string[] {
  const { TableName, IndexName, TransactItems } = request;
  const partitionsIn = (table: string, part: DynamoRequest) =>
    leadingKeys(part, table, shapes.get(table)).map((key) => `${table}|${IndexName ?? ''}|${key}`);
  if (TransactItems)
    return TransactItems.flatMap((entry) =>
      Object.values(entry).flatMap(({ TableName: table = '' }) =>
        partitionsIn(table, { TransactItems: [entry] }),
      ),
    );
  return TableName === undefined ? [] : partitionsIn(TableName, request);
}
