import { createHash } from 'node:crypto';
import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import {
  allOf,
  attributesNamed,
  type Item,
  ifStill,
  keyOf,
  startingWith,
  type Table,
  where,
} from '#adapters/dynamo/table/table.ts';
import { transactIfFirst } from '#adapters/dynamo/table/transact-with-retry.ts';
import { leaseIdOf, responseIdOf } from '#domain/chats/chat.ts';
import {
  type ErasedPart,
  type Erasure,
  type Purge,
  type PurgeOutbox,
  requeueAfter,
} from '#domain/chats/purge.ts';
import type { ChatTraces, FileOfChat } from '#domain/erasure/erasure.ts';
import type { Contents } from './message-item.ts';

export const dynamoChatTraces = (table: Table, contents: Contents): ChatTraces => ({
  async *requests(chat) {
    const { created_for: createdFor } = await remainsOf(table, chat);
    if (createdFor !== undefined) yield [requestIn(createdFor as string)];
    for await (const page of itemsOf(table, chat, 'BATCH#'))
      yield page.map(({ sk }) => requestIn(sk as string));
  },
  removeRequests: ({ workspaceId, chatId }, requests) =>
    table.deleteAll(
      requests.map(({ batchId, requestIndex }) =>
        keys.chatBatchRequest(workspaceId, chatId, batchId, requestIndex),
      ),
    ),
  async deleteMessages(chat, hasTime) {
    await contents().deleteOf({ workspaceId: chat.workspaceId, id: chat.chatId });
    await deleteEvents(table, chat, await remainsOf(table, chat));
    for await (const page of itemsOf(table, chat, 'M#')) {
      if (!hasTime()) return false;
      // The items are deleted last: by them, a repeated call after a crash finds what else must be deleted.
      await Promise.all(page.map((item) => deleteFeedback(table, chat, item)));
      await Promise.all(page.map((item) => deleteEvents(table, chat, item)));
      await table.deleteAll(page.map(keyOf));
    }
    return true;
  },
  async *files(chat) {
    for await (const page of itemsOf(table, chat, filePrefix))
      yield page.map(
        ({ sk, scope }): FileOfChat => ({
          uuid: (sk as string).slice(filePrefix.length),
          scope: scope as FileOfChat['scope'],
        }),
      );
  },
  removeFiles: ({ workspaceId, chatId }, files) =>
    table.deleteAll(files.map(({ uuid }) => keys.fileOfChat(workspaceId, chatId, uuid))),
});

const filePrefix = 'FILE#';

const remainsOf = async (table: Table, { workspaceId, chatId, deletedAt }: Purge): Promise<Item> =>
  (await table.get(keys.operatorsPurge(deletedAt, workspaceId, chatId))) ?? {};

const itemsOf = (table: Table, { workspaceId, chatId }: Purge, prefix: string): AsyncGenerator<Item[]> =>
  table.queryPages({
    ...startingWith({ ...keys.chat(workspaceId, chatId), sk: prefix }),
    ProjectionExpression: 'pk, sk, response_id, #scope',
    ExpressionAttributeNames: { '#scope': 'scope' },
  });

/** @param name `BATCH#<batch>#<index>`, or the lease of a request, `batch:<batch>:<index>` */
function requestIn(name: string): { batchId: string; requestIndex: number } {
  const [, batchId = '', requestIndex] = /^(?:BATCH#|batch:)(.+)[#:](\d+)$/.exec(name) ?? [];
  return { batchId, requestIndex: Number(requestIndex) };
}

async function deleteFeedback(table: Table, { workspaceId, chatId }: Purge, { sk }: Item): Promise<void> {
  const [, number] = /^M#(\d+)#FEEDBACK$/.exec(sk as string) ?? [];
  if (number === undefined) return;
  const position = Number(number);
  await deletePartition(table, keys.feedback(workspaceId, chatId, position, ''), ({ sk: user }) => [
    keys.userRating(workspaceId, user as string, chatId, position),
  ]);
}

async function deleteEvents(
  table: Table,
  { workspaceId, chatId }: Purge,
  { response_id: responseId }: Item,
): Promise<void> {
  // Only a resumable reply has stored events.
  if (typeof responseId === 'string' && leaseIdOf(responseId) !== undefined)
    await deletePartition(table, keys.replyEvents(workspaceId, chatId, responseId, 0, 0));
}

/** @param others the keys of further items, which are deleted before the item */
async function deletePartition(
  table: Table,
  key: Key,
  others: (item: Item) => Key[] = () => [],
): Promise<void> {
  for await (const page of table.queryPages({ ...allOf(key), ProjectionExpression: 'pk, sk' })) {
    await table.deleteAll(page.flatMap(others));
    await table.deleteAll(page.map(keyOf));
  }
}

export const outboxKey = (purge: Purge | Erasure) =>
  'chatId' in purge
    ? keys.operatorsPurge(purge.deletedAt, purge.workspaceId, purge.chatId)
    : keys.operatorsErasure(
        purge.workspaceId,
        createHash('sha256').update(purge.externalUserId).digest('hex'),
      );

export const purgeItem = (purge: Purge | Erasure, chat: Item = {}): Item => ({
  ...outboxKey(purge),
  ...(chat.created_for !== undefined && { created_for: chat.created_for }),
  // By this id, the purge finds the events of the reply in progress. Perhaps no message will ever contain it.
  ...(chat.lease_id !== undefined && { response_id: responseIdOf({ id: chat.lease_id as string }) }),
  workspace_id: purge.workspaceId,
  ...('chatId' in purge ? { chat_id: purge.chatId } : { external_user_id: purge.externalUserId }),
  deleted_at: purge.deletedAt,
  due_at: Date.parse(purge.deletedAt) + requeueAfter,
});

/** A newer erasure of the same person may have replaced the item. */
const isSame = ({ deletedAt }: Purge | Erasure) => ifStill({ deleted_at: deletedAt });

export const dynamoPurgeOutbox = (table: Table): PurgeOutbox => ({
  has: async (purge) => (await table.get(outboxKey(purge)))?.deleted_at === purge.deletedAt,

  async *pages(deletedUpTo) {
    // This key sorts after all erasures, and after the purges that were requested up to `deletedUpTo`.
    const end = keys.operatorsPurge(deletedUpTo, '\uffff', 0);
    for await (const page of table.queryPages(where('sk < :sk', end))) yield page.map(purgeOf);
  },

  postpone: (purge, dueAt, erased = {}) => updateSame(table, purge, erased, dueAt),

  async remove(purge) {
    await transactIfFirst(table, () => [{ Delete: { Key: outboxKey(purge), ...isSame(purge) } }]);
  },
});

/** Does nothing if the purge or erasure has ended, or if a newer erasure has replaced it. */
export async function updateSame(
  table: Table,
  purge: Purge | Erasure,
  erased: ErasedPart,
  dueAt?: number,
): Promise<void> {
  const { ExpressionAttributeValues, ...condition } = isSame(purge);
  const counts = Object.entries(erasedCounts.itemOf(erased));
  const additions = counts.map(([name]) => `${name} :${name}`).join(', ');
  const change = dueAt === undefined ? '' : 'SET due_at = :due';
  await table.updateIf({
    Key: outboxKey(purge),
    UpdateExpression: `${change} ${additions === '' ? '' : `ADD ${additions}`}`.trim(),
    ...condition,
    ExpressionAttributeValues: {
      ...ExpressionAttributeValues,
      ...(dueAt !== undefined && { ':due': dueAt }),
      ...Object.fromEntries(counts.map(([name, count]) => [`:${name}`, count])),
    },
  });
}

export const erasedCounts = attributesNamed<ErasedPart>({
  chats: ['erased_chats'],
  ratings: ['erased_ratings'],
  batchRequests: ['erased_batch_requests'],
  others: ['erased_others'],
});

const purgeOf = (item: Item) => ({
  workspaceId: item.workspace_id as string,
  ...(item.chat_id === undefined
    ? { externalUserId: item.external_user_id as string }
    : { chatId: item.chat_id as number }),
  deletedAt: item.deleted_at as string,
  dueAt: item.due_at as number,
});
