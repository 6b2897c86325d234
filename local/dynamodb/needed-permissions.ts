import type { AccessRules, Permission } from '../iam/access-rules.ts';
import type { AttributeValue, DynamoRequest, Item, TableShape } from './touched-items.ts';
import { actionsWithAttributes, writtenAttributes } from './written-attributes.ts';

const IN_TRANSACTIONS: Readonly<Record<string, string>> = {
  ConditionCheck: 'ConditionCheckItem',
  Delete: 'DeleteItem',
  Put: 'PutItem',
  Update: 'UpdateItem',
};

export function neededPermissions(
  target: string,
  request: DynamoRequest,
  shapes: ReadonlyMap<string, TableShape>,
  { region, accountId }: Pick<AccessRules, 'region' | 'accountId'>,
): Permission[] {
  const { TableName, IndexName, RequestItems, TransactItems } = request;
  const on = (table: string, part: DynamoRequest, action = target, index?: string): Permission => {
    const name = table.split('table/').pop() ?? '';
    const arn = `arn:aws:dynamodb:${region}:${accountId}:table/${name}`;
    const keys = leadingKeys(part, table, shapes.get(name));
    const isWrite = actionsWithAttributes.includes(`dynamodb:${action}`);
    return {
      action: `dynamodb:${action}`,
      resource: index === undefined ? arn : `${arn}/index/${index}`,
      ...(keys.length > 0 && {
        context: {
          'dynamodb:leadingkeys': keys,
          ...(isWrite && { 'dynamodb:attributes': writtenAttributes(part) }),
        },
      }),
    };
  };
  if (TransactItems)
    return TransactItems.flatMap((entry) =>
      Object.entries(entry).map(([kind, operation]) =>
        on(operation.TableName ?? '', { TransactItems: [entry] }, IN_TRANSACTIONS[kind]),
      ),
    );
  if (RequestItems) return Object.keys(RequestItems).map((table) => on(table, request));
  if (TableName !== undefined) return [on(TableName, request, target, IndexName)];
  return [{ action: `dynamodb:${target}`, resource: '*' }];
}

/** IAM's `dynamodb:LeadingKeys`. */
export function leadingKeys(
  request: DynamoRequest,
  tableName: string,
  shape: TableShape | undefined,
): string[] {
  const name = shape?.partitionKey ?? '';
  const ofItems = (items: readonly (Item | undefined)[]) =>
    items.flatMap((item) => (item?.[name] ? [textOf(item[name])] : []));
  const { TableName, RequestItems, TransactItems, IndexName } = request;
  if (TransactItems) {
    const operations = TransactItems.flatMap((entry) => Object.values(entry));
    const ofTable = operations.filter((operation) => operation.TableName === tableName);
    return ofItems(ofTable.map(({ Item, Key }) => Item ?? Key));
  }
  if (RequestItems) {
    const entries = RequestItems[tableName] ?? [];
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

function ofCondition(
  { ExpressionAttributeNames = {}, ExpressionAttributeValues = {} }: DynamoRequest,
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
