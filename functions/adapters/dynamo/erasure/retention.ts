import { keys } from '#adapters/dynamo/table/keys.ts';
import { allOf, changing, startingWith, type Table } from '#adapters/dynamo/table/table.ts';
import type { Retention } from '#domain/erasure/services.ts';

export const dynamoRetention = (table: Table): Retention => ({
  async walks() {
    const walks = await table.queryAll(allOf(keys.operatorsRetention('')));
    return walks.map(({ sk, days, walked_to: after, walked_at: walkedAt }) => ({
      ...{ workspaceId: sk as string, days: days as number },
      after: (after as number | undefined) ?? null,
      walkedAt: (walkedAt as string | undefined) ?? null,
    }));
  },

  async advance({ workspaceId, days }, after, at) {
    const { isDone } = await table.updateIf({
      Key: keys.operatorsRetention(workspaceId),
      ...changing({ walked_at: at, walked_to: after }, { ':days': days }),
      ConditionExpression: 'days = :days',
    });
    return isDone;
  },

  async inOpenBatches(workspaceId, chatIds) {
    const batches = await table.queryAll(allOf(keys.batchList(workspaceId, 'open').entry(0)));
    const open = new Set(batches.map(({ id }) => id));
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
    ...startingWith({ ...keys.chat(workspaceId, chatId), sk: 'BATCH#' }),
    ProjectionExpression: 'sk',
  });
  for await (const page of requests)
    if (page.some(({ sk }) => batchIds.has((sk as string).split('#')[1]))) return true;
  return false;
}
