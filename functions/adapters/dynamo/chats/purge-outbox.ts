import { createHash } from 'node:crypto';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { type Item, type Table, where } from '#adapters/dynamo/table/table.ts';
import { transactIfFirst } from '#adapters/dynamo/table/transact-with-retry.ts';
import { responseIdOf } from '#domain/chats/chat.ts';
import {
  type ErasedCounts,
  type ErasedPart,
  type Erasure,
  nothingErased,
  type Purge,
  type PurgeOutbox,
  requeueAfter,
} from '#domain/chats/purge.ts';
import { sumOf } from '#domain/platform/model-usage.ts';

export const outboxKey = (purge: Purge | Erasure) =>
  'chatId' in purge
    ? keys.operatorsPurge(purge.deletedAt, purge.workspaceId, purge.chatId)
    : keys.operatorsErasure(
        purge.workspaceId,
        createHash('sha256').update(purge.externalUserId).digest('hex'),
      );

/**
 * The item of a new purge, for the transaction of the deletion.
 * @param chat the item of the deleted chat: what only it names is purged as well
 */
export const purgeItem = (purge: Purge | Erasure, chat: Item = {}): Item => ({
  ...outboxKey(purge),
  ...(chat.created_for !== undefined && { created_for: chat.created_for }),
  // The events of the reply in progress. No message may ever name them.
  ...(chat.lease_id !== undefined && { response_id: responseIdOf({ id: chat.lease_id as string }) }),
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
  has: async (purge) => (await table.get(outboxKey(purge)))?.deleted_at === purge.deletedAt,

  async *pages(deletedUpTo) {
    // Sorts after every workspace.
    const end = keys.operatorsPurge(deletedUpTo, '\uffff', 0);
    for await (const page of table.queryPages(where('sk < :sk', end))) yield page.map(purgeOf);
  },

  postpone: (purge, dueAt, erased = {}) =>
    updateSame(table, purge, 'SET due_at = :due', { ':due': dueAt }, erased),

  async remove(purge) {
    await transactIfFirst(table, () => [{ Delete: { Key: outboxKey(purge), ...isSame(purge) } }]);
  },
});

/** Changes the item of a purge that has not ended, and adds to the counts of an erasure. */
export async function updateSame(
  table: Table,
  purge: Purge | Erasure,
  change: string,
  values: Item,
  erased: ErasedPart,
): Promise<void> {
  const { ExpressionAttributeValues, ...condition } = isSame(purge);
  const counts = Object.entries(countItemOf(erased)).filter(([, count]) => count !== undefined);
  const additions = counts.map(([name]) => `${name} :${name}`).join(', ');
  await table.updateIf({
    Key: outboxKey(purge),
    UpdateExpression: `${change} ${additions === '' ? '' : `ADD ${additions}`}`.trim(),
    ...condition,
    ExpressionAttributeValues: {
      ...{ ...ExpressionAttributeValues, ...values },
      ...Object.fromEntries(counts.map(([name, count]) => [`:${name}`, count])),
    },
  });
}

/** The counts as attributes of an erasure's item. */
export const countItemOf = ({ chats, ratings, batchRequests, others }: ErasedPart): Item => ({
  erased_chats: chats,
  erased_ratings: ratings,
  erased_batch_requests: batchRequests,
  erased_others: others,
});

/** An item that earlier code has written has no counts. */
export const countsOf = (item: Item): ErasedCounts =>
  sumOf(nothingErased, {
    chats: item.erased_chats as number | undefined,
    ratings: item.erased_ratings as number | undefined,
    batchRequests: item.erased_batch_requests as number | undefined,
    others: item.erased_others as number | undefined,
  });

const purgeOf = (item: Item) => ({
  workspaceId: item.workspace_id as string,
  ...(item.chat_id === undefined
    ? { externalUserId: item.external_user_id as string }
    : { chatId: item.chat_id as number }),
  deletedAt: item.deleted_at as string,
  dueAt: item.due_at as number,
});
