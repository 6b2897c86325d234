import type { AccessRules, Permission } from '../iam/access-rules.ts';
import { leadingKeys } from './leading-keys.ts';
import type { DynamoRequest, TableShape } from './touched-items.ts';
import { actionsWithAttributes, writtenAttributes } from './written-attributes.ts';

/** The action that IAM checks for each operation of a transaction. */
const IN_TRANSACTIONS: Readonly<Record<string, string>> = {
  ConditionCheck: 'ConditionCheckItem',
  Delete: 'DeleteItem',
  Put: 'PutItem',
  Update: 'UpdateItem',
};

/** The permissions that IAM checks: one for each operation of a transaction, one for each table of a batch. */
export function neededPermissions(
  target: string,
  request: DynamoRequest & { readonly IndexName?: string },
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
