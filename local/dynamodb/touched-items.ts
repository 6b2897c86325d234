export type AttributeValue = Record<string, unknown>;
export type Item = Record<string, AttributeValue>;

export interface TableShape {
  readonly partitionKey: string;
  readonly sortKey: string | undefined;
  readonly indexes?: Readonly<Record<string, string>>;
}

export type TouchedItem = ReturnType<typeof touchedItems>[number];

interface Operation {
  readonly TableName?: string;
  readonly Item?: Item;
  readonly Key?: Item;
  readonly ConditionExpression?: string;
  readonly UpdateExpression?: string;
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>>;
}

export interface BatchEntry {
  readonly PutRequest?: { readonly Item: Item };
  readonly DeleteRequest?: { readonly Key: Item };
}

export interface KeysOfTable {
  readonly Keys: readonly Item[];
}

export interface DynamoRequest extends Operation {
  readonly RequestItems?: Readonly<Record<string, readonly BatchEntry[] | KeysOfTable>>;
  readonly TransactItems?: Record<string, Operation>[];
  readonly ReturnConsumedCapacity?: string;
  readonly IndexName?: string;
  readonly KeyConditionExpression?: string;
  readonly ExpressionAttributeValues?: Readonly<Record<string, AttributeValue>>;
}

// A write of an item of up to this size is one unit; in a transaction two.
const UNIT_BYTES = 1024;

export function touchedItems(
  target: string,
  request: DynamoRequest,
  shapes: ReadonlyMap<string, TableShape>,
) {
  const touch = (tableName: string, { Item: item, Key: key }: Operation, factor = 1) => {
    const shape = shapes.get(tableName);
    const source = item ?? key;
    if (!shape || !source) return [];
    const partition = `${tableName}|${JSON.stringify(source[shape.partitionKey])}`;
    const itemKey = `${partition}|${shape.sortKey ? JSON.stringify(source[shape.sortKey]) : ''}`;
    const units = item ? Math.max(1, Math.ceil(itemBytes(item) / UNIT_BYTES)) : 1;
    return [{ tableName, partition, itemKey, units: units * factor }];
  };
  switch (target) {
    case 'PutItem':
    case 'UpdateItem':
    case 'DeleteItem':
      return touch(request.TableName ?? '', request);
    case 'BatchWriteItem':
      return Object.entries(request.RequestItems ?? {}).flatMap(([tableName, entries]) =>
        'Keys' in entries
          ? []
          : entries.flatMap(({ PutRequest, DeleteRequest }) =>
              touch(tableName, PutRequest ?? DeleteRequest ?? {}),
            ),
      );
    case 'TransactWriteItems':
      return (request.TransactItems ?? []).flatMap((entry) =>
        Object.values(entry).flatMap((operation) => touch(operation.TableName ?? '', operation, 2)),
      );
    default:
      return [];
  }
}

function itemBytes(item: Item): number {
  const sizes = Object.entries(item).map(([name, value]) => Buffer.byteLength(name) + valueBytes(value));
  return sizes.reduce((sum, size) => sum + size, 0);
}

function valueBytes(value: AttributeValue): number {
  const [type, content] = Object.entries(value)[0] ?? [];
  switch (type) {
    case 'S':
      return Buffer.byteLength(String(content));
    case 'N':
      return Math.ceil(String(content).length / 2) + 1;
    case 'B':
      return Math.floor((String(content).length * 3) / 4);
    case 'SS':
    case 'NS':
    case 'BS':
      return (content as string[]).reduce((sum, entry) => sum + valueBytes({ [type.slice(0, 1)]: entry }), 0);
    case 'L':
      return (content as AttributeValue[]).reduce((sum, entry) => sum + valueBytes(entry) + 1, 3);
    case 'M':
      return itemBytes(content as Item) + Object.keys(content as Item).length + 3;
    default:
      return 1;
  }
}
