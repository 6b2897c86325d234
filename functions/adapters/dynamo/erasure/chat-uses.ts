import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { chatOf } from '#adapters/dynamo/chats/chat-item.ts';
import { idsIn } from '#adapters/dynamo/chats/chat-writes.ts';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { readPage } from '#adapters/dynamo/table/lists.ts';
import type { Table } from '#adapters/dynamo/table/table.ts';
import type { ChatUse, ChatUses } from '#domain/erasure/chat-uses.ts';

export const dynamoChatUses = (table: Table): ChatUses => ({
  async workspaces() {
    const pages = table.queryPages({
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': keys.operatorsRetention('').pk },
    });
    return (await Array.fromAsync(pages))
      .flat()
      .map(({ sk, days }) => ({ workspaceId: sk as string, days: days as number }));
  },

  async notAdded(workspaceId, limit) {
    const after = ((await table.get(keys.chatUseCursor(workspaceId)))?.chat_id as number | undefined) ?? 0;
    const cursor = { isAfter: true, id: after, offset: 0 };
    const { listed } = await readPage(
      table,
      keys.chatList(workspaceId, {}),
      { limit, offset: 0, ascending: true, cursor },
      { count: 'n', numbersIn: idsIn },
    );
    return Promise.all(
      listed.map(async ({ number: chatId }) => {
        const item = await table.get(keys.chat(workspaceId, chatId));
        return { chatId, chat: item && chatOf(item) };
      }),
    );
  },

  async add(workspaceId, uses, upTo) {
    await putUses(table, workspaceId, uses);
    // Another run may have added more.
    try {
      await table.update({
        Key: keys.chatUseCursor(workspaceId),
        UpdateExpression: 'SET chat_id = :id',
        ConditionExpression: 'attribute_not_exists(chat_id) OR chat_id < :id',
        ExpressionAttributeValues: { ':id': upTo },
      });
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
    }
  },

  async *before(workspaceId, time, limit) {
    const pages = table.queryPages({
      KeyConditionExpression: 'pk = :pk AND sk < :time',
      ExpressionAttributeValues: { ':pk': keys.chatUseCursor(workspaceId).pk, ':time': time },
      Limit: limit,
    });
    for await (const page of pages)
      yield page.map(({ sk }) => {
        const [lastUse = '', chatId] = (sk as string).split('#');
        return { chatId: Number(chatId), lastUse };
      });
  },

  async replace(workspaceId, replaced) {
    const uses = replaced.flatMap(({ use: { chatId }, lastUse }) =>
      lastUse === null ? [] : [{ chatId, lastUse }],
    );
    // First, so that a crash loses no chat.
    await putUses(table, workspaceId, uses);
    await table.deleteAll(replaced.map(({ use }) => keys.chatUse(workspaceId, use.lastUse, use.chatId)));
  },

  async inOpenBatches(workspaceId, chatIds) {
    const open = new Set<unknown>();
    if (chatIds.length === 0) return new Set();
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

const putUses = (table: Table, workspaceId: string, uses: readonly ChatUse[]): Promise<void> =>
  table.putAll(uses.map(({ lastUse, chatId }) => ({ ...keys.chatUse(workspaceId, lastUse, chatId) })));

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
