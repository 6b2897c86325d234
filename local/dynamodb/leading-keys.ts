import type { AttributeValue, DynamoRequest, Item, TableShape } from './touched-items.ts';

/** The fields of a request that contain keys. */
interface KeyedRequest extends DynamoRequest {
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>>;
  readonly ExpressionAttributeValues?: Readonly<Record<string, AttributeValue>>;
  readonly IndexName?: string;
  readonly KeyConditionExpression?: string;
}

/** The values of the partition keys in a request: IAM's `dynamodb:LeadingKeys`. */
export function leadingKeys(
  request: KeyedRequest,
  tableName: string,
  shape: TableShape | undefined,
): string[] {
  const name = shape?.partitionKey ?? '';
  const ofItems = (items: readonly (Item | undefined)[]) =>
    items.flatMap((item) => (item?.[name] ? [textOf(item[name])] : []));
  const { TableName, RequestItems, TransactItems, IndexName } = request;
  if (TransactItems) {
    const operations = TransactItems.flatMap((entry) => Object.values(entry));
    return ofItems(
      operations.filter((one) => one.TableName === tableName).map(({ Item, Key }) => Item ?? Key),
    );
  }
  if (RequestItems) {
    const entries = RequestItems[tableName];
    if (entries === undefined) return [];
    if ('Keys' in entries) return ofItems(entries.Keys);
    return ofItems(entries.map(({ PutRequest, DeleteRequest }) => PutRequest?.Item ?? DeleteRequest?.Key));
  }
  if (TableName === undefined) return [];
  if (request.KeyConditionExpression !== undefined) {
    const partitionKey = IndexName === undefined ? name : (shape?.indexes?.[IndexName] ?? '');
    return ofCondition(request, request.KeyConditionExpression, partitionKey);
  }
  return ofItems([request.Item ?? request.Key]);
}

/** Reads the partition key's value from a query's condition, which compares it with `=`. */
function ofCondition(
  { ExpressionAttributeNames = {}, ExpressionAttributeValues = {} }: KeyedRequest,
  condition: string,
  partitionKey: string,
): string[] {
  return [...condition.matchAll(/([#\w.-]+)\s*=\s*(:\w+)/g)].flatMap(
    ([, attribute = '', placeholder = '']) => {
      const value = ExpressionAttributeValues[placeholder];
      const isKey = (ExpressionAttributeNames[attribute] ?? attribute) === partitionKey;
      return isKey && value ? [textOf(value)] : [];
    },
  );
}

const textOf = (value: AttributeValue): string => String(Object.values(value)[0]);
