import { createHmac, randomBytes } from 'node:crypto';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Table } from '#adapters/dynamo/table/table.ts';

/**
 * The names of external users in the audit log, which outlives them: hashes with a random key of the workspace. Without
 * the key, which is an item of the table, nobody can try out users.
 */
export async function hashUsers(
  table: Table,
  workspaceId: string,
  externalUserIds: readonly string[],
): Promise<string[]> {
  const key = await auditKeyOf(table, workspaceId);
  return externalUserIds.map(
    (user) => `user_${createHmac('sha256', key).update(user).digest('hex').slice(0, 32)}`,
  );
}

async function auditKeyOf(table: Table, workspaceId: string): Promise<string> {
  const Key = keys.auditKey(workspaceId);
  const stored = (await table.get(Key))?.key as string | undefined;
  if (stored !== undefined) return stored;
  const key = randomBytes(32).toString('base64');
  const put = { Item: { ...Key, key }, ConditionExpression: 'attribute_not_exists(pk)' };
  return (await table.putIf(put)).isDone ? key : auditKeyOf(table, workspaceId);
}
