import type { DynamoRequest } from './touched-items.ts';

/** The actions for which the runner knows `dynamodb:Attributes`. */
export const actionsWithAttributes: readonly string[] = ['dynamodb:PutItem', 'dynamodb:UpdateItem'];

/** In lower case. The names of functions are not here: the parenthesis after them tells them from attributes. */
const KEYWORDS = ['add', 'and', 'between', 'delete', 'in', 'not', 'or', 'remove', 'set'];

/** IAM's `dynamodb:Attributes`, for a write or a transaction of one write. */
export function writtenAttributes(request: DynamoRequest): string[] {
  const [write = request] = (request.TransactItems ?? []).flatMap((entry) => Object.values(entry));
  const { Item, Key, ConditionExpression = '', UpdateExpression = '', ExpressionAttributeNames = {} } = write;
  const expressions = `${UpdateExpression} ${ConditionExpression}`;
  // The pattern matches neither values nor what follows the dot of a path.
  const named = [...expressions.matchAll(/(?<![\w.:#])(#?[A-Za-z_]\w*)\b(?!\s*\()/g)].flatMap(
    ([, name = '']) => {
      if (name.startsWith('#')) return ExpressionAttributeNames[name] ?? [];
      return KEYWORDS.includes(name.toLowerCase()) ? [] : name;
    },
  );
  return [...new Set([...Object.keys(Item ?? Key ?? {}), ...named])];
}
