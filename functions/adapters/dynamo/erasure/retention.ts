import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Table } from '#adapters/dynamo/table/table.ts';
import type { Retention } from '#domain/erasure/services.ts';

export const dynamoRetention = (table: Table): Retention => ({
  async walks() {
    const pages = table.queryPages({
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': keys.operatorsRetention('').pk },
    });
    return (await Array.fromAsync(pages))
      .flat()
      .map(({ sk, days, walked_to: after, walked_at: walkedAt }) => ({
        ...{ workspaceId: sk as string, days: days as number },
        after: (after as number | undefined) ?? null,
        walkedAt: (walkedAt as string | undefined) ?? null,
      }));
  },

  async advance({ workspaceId, days }, after, at) {
    try {
      await table.update({
        Key: keys.operatorsRetention(workspaceId),
        UpdateExpression: `SET walked_at = :at${after === null ? ' REMOVE walked_to' : ', walked_to = :after'}`,
        ConditionExpression: 'days = :days',
        ExpressionAttributeValues: { ':at': at, ':days': days, ...(after !== null && { ':after': after }) },
      });
      return true;
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) return false;
      throw error;
    }
  },

  async inOpenBatches(workspaceId, chatIds) {
    const open = new Set<unknown>();
    const batches = table.queryPages({
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': keys.batchList(workspaceId, 'open').entry(0).pk },
    });
    for await (const page of batches) for (const { id } of page) open.add(id);
    if (open.size === 0) return new Set();
    const found = await Promise.all(
      chatIds.map(async (chatId) => ((await hasRequestOf(table, workspaceId, chatId, open)) ? [chatId] : [])),
    );
    return new Set(found.flat());
  },
});

async function hasRequestOf(
  table: Table,
  workspaceId: string,
  chatId: number,
  batchIds: ReadonlySet<unknown>,
): Promise<boolean> {
  const requests = table.queryPages({
    KeyConditionExpression: 'pk = :pk AND begins_with(sk, :requests)',
    ProjectionExpression: 'sk',
    ExpressionAttributeValues: { ':pk': keys.chat(workspaceId, chatId).pk, ':requests': 'BATCH#' },
  });
  for await (const page of requests)
    if (page.some(({ sk }) => batchIds.has((sk as string).split('#')[1]))) return true;
  return false;
}
