import { markingGone } from '#adapters/dynamo/table/gone-indexes.ts';
import { findIndex, type ListHead, readHead } from '#adapters/dynamo/table/id-lists.ts';
import { keys, type ListKeys } from '#adapters/dynamo/table/keys.ts';
import type { Table, Write } from '#adapters/dynamo/table/table.ts';
import { transactWithRetry } from '#adapters/dynamo/table/transact-with-retry.ts';
import type { Chat } from '#domain/chats/chat.ts';
import type { ChatDeletion } from '#domain/chats/chat-store.ts';
import { existingChatOf, tombstone } from './chat-item.ts';
import { listsOf } from './plan-chats.ts';
import { purgeItem } from './purge-outbox.ts';

/** With the delays about 16 s. Deletions of one workspace write the same root, so one at a time succeeds. */
const attempts = 100;

export const dynamoChatDeletion = (table: Table): ChatDeletion => ({
  async delete(chat, at) {
    const item = await table.get(keys.chat(chat.workspaceId, chat.id));
    const existing = existingChatOf(item);
    if (existing === undefined) return false;
    const entries = await entriesOf(table, chat, item?.list_indexes as number[] | undefined);
    return transactWithRetry(table, {
      attempts,
      plan: async () => {
        const marks = await Promise.all(entries.map((entry) => marking(table, entry)));
        return {
          writes: (TableName) => [
            {
              Put: {
                TableName,
                Item: tombstone(existing, at, item?.created_for),
                ConditionExpression: 'attribute_exists(agent_id)',
              },
            },
            ...marks.flatMap((mark) => mark(TableName)),
            {
              Put: {
                TableName,
                Item: purgeItem({ workspaceId: chat.workspaceId, chatId: chat.id, deletedAt: at }),
              },
            },
          ],
          result: true,
        };
      },
      onConditionFailed: ([isDeleted]) => (isDeleted === true ? { result: false } : undefined),
    });
  },
});

/** Where a list has the chat. */
interface Entry {
  list: ListKeys;
  index: number;
}

/** @param stored undefined for a chat of an earlier version */
async function entriesOf(table: Table, chat: Chat, stored: readonly number[] | undefined): Promise<Entry[]> {
  const { workspaceId, id } = chat;
  const others = listsOf(chat).map(async (kind, number): Promise<Entry> => {
    const list = keys.chatList(workspaceId, kind);
    return { list, index: stored?.[number] ?? (await findIndex(table, await readHead(table, list), id)) };
  });
  return [{ list: keys.chatList(workspaceId, {}), index: id - 1 }, ...(await Promise.all(others))];
}

/** The writes that take the chat out of one list: at most three. */
async function marking(table: Table, { list, index }: Entry): Promise<(TableName: string) => Write[]> {
  const [head, mark] = await Promise.all([readHead<number>(table, list), markingGone(table, list, index)]);
  return (TableName) => [...mark(TableName), ...flagging(TableName, head)];
}

/** From the first deletion on, readers of the list read what is gone. */
const flagging = (TableName: string, { list, hasGone }: ListHead<number>): Write[] =>
  hasGone
    ? []
    : [
        {
          Update: {
            TableName,
            Key: list.head,
            UpdateExpression: 'SET has_gone = :true',
            ExpressionAttributeValues: { ':true': true },
          },
        },
      ];
