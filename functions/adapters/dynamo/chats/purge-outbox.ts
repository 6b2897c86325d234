import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table } from '#adapters/dynamo/table/table.ts';
import { type Purge, type PurgeOutbox, requeueAfter } from '#domain/chats/purge.ts';

const keyOf = ({ workspaceId, chatId, deletedAt }: Purge) =>
  keys.operatorsPurge(deletedAt, workspaceId, chatId);

/** The item of a new purge, for the transaction of the deletion. */
export const purgeItem = (purge: Purge): Item => ({
  ...keyOf(purge),
  workspace_id: purge.workspaceId,
  chat_id: purge.chatId,
  deleted_at: purge.deletedAt,
  due_at: Date.parse(purge.deletedAt) + requeueAfter,
});

export const dynamoPurgeOutbox = (table: Table): PurgeOutbox => ({
  has: async (purge) => (await table.get(keyOf(purge))) !== undefined,

  async *pages() {
    const pages = table.queryPages({
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': keys.operatorsPurge('', '', 0).pk },
    });
    for await (const page of pages)
      yield page.map((item) => ({
        workspaceId: item.workspace_id as string,
        chatId: item.chat_id as number,
        deletedAt: item.deleted_at as string,
        dueAt: item.due_at as number,
      }));
  },

  async postpone(purge, dueAt) {
    try {
      await table.update({
        Key: keyOf(purge),
        UpdateExpression: 'SET due_at = :due',
        ConditionExpression: 'attribute_exists(pk)',
        ExpressionAttributeValues: { ':due': dueAt },
      });
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
    }
  },

  remove: (purge) => table.deleteAll([keyOf(purge)]),
});
