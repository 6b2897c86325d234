import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table } from '#adapters/dynamo/table/table.ts';
import type { FileErasures } from '#domain/files/file-erasures.ts';
import { confirmed } from './file-index.ts';

export function dynamoFileErasures(table: Table): FileErasures {
  /** @returns undefined if the condition was true; otherwise the item, empty if there is none */
  async function update(input: Parameters<Table['update']>[0]): Promise<Item | undefined> {
    try {
      await table.update({ ...input, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' });
      return undefined;
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      return error.Item === undefined ? {} : unmarshall(error.Item);
    }
  }
  return {
    detach: ({ workspaceId, uuid }, chatId) => table.deleteAll([keys.chatOfFile(workspaceId, uuid, chatId)]),
    async isAttached({ workspaceId, uuid }) {
      const pages = table.queryPages({
        KeyConditionExpression: 'pk = :pk AND begins_with(sk, :chats)',
        ExpressionAttributeValues: { ':pk': keys.file(workspaceId, uuid).pk, ':chats': 'CHAT#' },
        Limit: 1,
      });
      for await (const page of pages) if (page.length > 0) return true;
      return false;
    },
    async start({ workspaceId, uuid }, id) {
      const item = await update({
        Key: keys.file(workspaceId, uuid),
        UpdateExpression: 'SET erasing = :id',
        ConditionExpression:
          'chats_indexed = :true AND (attribute_not_exists(erasing) OR erasing <> :confirmed)',
        ExpressionAttributeValues: { ':id': id, ':true': true, ':confirmed': confirmed },
      });
      if (item === undefined) return 'started';
      if (item.pk === undefined) return 'gone';
      return item.chats_indexed === true ? 'confirmed' : 'not-indexed';
    },
    async cancel({ workspaceId, uuid }, id) {
      await update({
        Key: keys.file(workspaceId, uuid),
        UpdateExpression: 'REMOVE erasing',
        ConditionExpression: 'erasing = :id',
        ExpressionAttributeValues: { ':id': id },
      });
    },
    async confirm({ workspaceId, uuid }, id) {
      const item = await update({
        Key: keys.file(workspaceId, uuid),
        UpdateExpression: 'SET erasing = :confirmed',
        ConditionExpression: 'erasing = :id',
        ExpressionAttributeValues: { ':id': id, ':confirmed': confirmed },
      });
      // The SDK may have repeated the write, or another erasure has confirmed.
      return item === undefined || item.erasing === confirmed || item.pk === undefined;
    },
    finish: ({ workspaceId, uuid }) => table.deleteAll([keys.file(workspaceId, uuid)]),
  };
}
