import type { DynamoRequest } from './touched-items.ts';

/** The actions for which the runner knows `dynamodb:Attributes`. */
export const actionsWithAttributes: readonly string[] = ['dynamodb:PutItem', 'dynamodb:UpdateItem'];

/** The keywords of expressions, in lower case. The parenthesis after a function's name tells it from an attribute. */
const KEYWORDS = ['add', 'and', 'between', 'delete', 'in', 'not', 'or', 'remove', 'set'];

/**
 * The names of the top-level attributes in a write, including its key and its condition: IAM's `dynamodb:Attributes`.
 * @param request a write, or a transaction of one write
 */
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
