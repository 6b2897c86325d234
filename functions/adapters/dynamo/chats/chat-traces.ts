import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import { allOf, type Item, keyOf, startingWith, type Table } from '#adapters/dynamo/table/table.ts';
import { leaseIdOf } from '#domain/chats/chat.ts';
import type { Purge } from '#domain/chats/purge.ts';
import type { ChatTraces, FileOfChat } from '#domain/erasure/chat-traces.ts';
import type { Contents } from './message-texts.ts';

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
      // The items go last: they name what else there is to delete, also after a crash.
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

/** What a deletion leaves of the chat itself: its purge. */
const remainsOf = async (table: Table, { workspaceId, chatId, deletedAt }: Purge): Promise<Item> =>
  (await table.get(keys.operatorsPurge(deletedAt, workspaceId, chatId))) ?? {};

/** The items of the chat's partition that start with the prefix, without texts. */
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

/** Deletes what users have recorded, if the item has the feedback counts of a message. */
async function deleteFeedback(table: Table, { workspaceId, chatId }: Purge, { sk }: Item): Promise<void> {
  const [, number] = /^M#(\d+)#FEEDBACK$/.exec(sk as string) ?? [];
  if (number === undefined) return;
  const position = Number(number);
  await deletePartition(table, keys.feedback(workspaceId, chatId, position, ''), ({ sk: user }) => [
    keys.userRating(workspaceId, user as string, chatId, position),
  ]);
}

/** Deletes the events of the reply that the item names, a message or what is left of the chat. */
async function deleteEvents(
  table: Table,
  { workspaceId, chatId }: Purge,
  { response_id: responseId }: Item,
): Promise<void> {
  // Only a resumable reply has any.
  if (typeof responseId === 'string' && leaseIdOf(responseId) !== undefined)
    await deletePartition(table, keys.replyEvents(workspaceId, chatId, responseId, 0, 0));
}

/** @param others further items that go with one, before it */
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
