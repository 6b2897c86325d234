import { createHash } from 'node:crypto';
import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table } from '#adapters/dynamo/table/table.ts';
import { transactIfFirst } from '#adapters/dynamo/table/transact-with-retry.ts';
import { type Erasure, type Purge, type PurgeOutbox, requeueAfter } from '#domain/chats/purge.ts';

const keyOf = (purge: Purge | Erasure) =>
  'chatId' in purge
    ? keys.operatorsPurge(purge.deletedAt, purge.workspaceId, purge.chatId)
    : keys.operatorsErasure(
        purge.workspaceId,
        createHash('sha256').update(purge.externalUserId).digest('hex'),
      );

/** The item of a new purge, for the transaction of the deletion. */
export const purgeItem = (purge: Purge | Erasure): Item => ({
  ...keyOf(purge),
  workspace_id: purge.workspaceId,
  ...('chatId' in purge ? { chat_id: purge.chatId } : { external_user_id: purge.externalUserId }),
  deleted_at: purge.deletedAt,
  due_at: Date.parse(purge.deletedAt) + requeueAfter,
});

/** A newer erasure of the same person may have replaced it. */
const isSame = ({ deletedAt }: Purge | Erasure) => ({
  ConditionExpression: 'deleted_at = :deleted',
  ExpressionAttributeValues: { ':deleted': deletedAt },
});

export const dynamoPurgeOutbox = (table: Table): PurgeOutbox => ({
  has: async (purge) => (await table.get(keyOf(purge)))?.deleted_at === purge.deletedAt,

  async *pages(deletedUpTo) {
    // Sorts after every workspace.
    const { pk, sk } = keys.operatorsPurge(deletedUpTo, '\uffff', 0);
    const pages = table.queryPages({
      KeyConditionExpression: 'pk = :pk AND sk < :end',
      ExpressionAttributeValues: { ':pk': pk, ':end': sk },
    });
    for await (const page of pages) yield page.map(purgeOf);
  },

  async postpone(purge, dueAt) {
    const { ExpressionAttributeValues, ...condition } = isSame(purge);
    try {
      await table.update({
        Key: keyOf(purge),
        UpdateExpression: 'SET due_at = :due',
        ...condition,
        ExpressionAttributeValues: { ...ExpressionAttributeValues, ':due': dueAt },
      });
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
    }
  },

  async remove(purge) {
    const Delete = { Key: keyOf(purge), ...isSame(purge) };
    await transactIfFirst(table, async () => (TableName) => [{ Delete: { TableName, ...Delete } }]);
  },
});

const purgeOf = (item: Item) => ({
  workspaceId: item.workspace_id as string,
  ...(item.chat_id === undefined
    ? { externalUserId: item.external_user_id as string }
    : { chatId: item.chat_id as number }),
  deletedAt: item.deleted_at as string,
  dueAt: item.due_at as number,
});
