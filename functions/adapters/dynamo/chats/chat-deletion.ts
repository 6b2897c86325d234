import { isDeepStrictEqual } from 'node:util';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { removeEmptyCounts } from '#adapters/dynamo/table/lists.ts';
import type { Item, Table, Write } from '#adapters/dynamo/table/table.ts';
import { transactWithRetry } from '#adapters/dynamo/table/transact-with-retry.ts';
import type { Chat } from '#domain/chats/chat.ts';
import type { ChatDeletion } from '#domain/chats/chat-store.ts';
import { chatOf } from './chat-item.ts';
import { planRemoval } from './chat-writes.ts';
import { purgeItem } from './purge-outbox.ts';

/** With the delays about 16 s. */
const attempts = 100;

/** Chats of one transaction, which may have 100 writes: each has eight, with an entry and a count in three lists. */
const chatsAtOnce = 12;

export const dynamoChatDeletion = (table: Table): ChatDeletion => ({
  delete: (chats, deletedAt) => deleteChats(table, chats, deletedAt, { unchanged: false }),
  deleteUnchanged: (chats, deletedAt) => deleteChats(table, chats, deletedAt, { unchanged: true }),
  removeCounts: ({ workspaceId, externalUserId }) =>
    removeEmptyCounts(table, keys.chatList(workspaceId, { externalUserId })),
});

/** @param only.unchanged chats that have changed since they were read stay */
async function deleteChats(
  table: Table,
  chats: readonly Chat[],
  deletedAt: string,
  only: { unchanged: boolean },
): Promise<Chat[]> {
  const deleted: Chat[] = [];
  for (let done = 0; done < chats.length; ) {
    let conflicts = 0;
    const { taken, found } = await transactWithRetry(table, {
      attempts,
      plan: async () => {
        // Fewer after a conflict: each chat shares its counts with other writers.
        const chosen = chats.slice(done, done + Math.ceil(chatsAtOnce / (1 + conflicts)));
        conflicts += 1;
        const result = { taken: chosen.length, found: await readChats(table, chosen, only) };
        return { writes: await deleting(table, result.found, deletedAt, only), result };
      },
    });
    deleted.push(...found.map(({ chat }) => chat));
    done += taken;
  }
  return deleted;
}

interface Found {
  chat: Chat;
  item: Item;
}

async function readChats(
  table: Table,
  chats: readonly Chat[],
  { unchanged }: { unchanged: boolean },
): Promise<Found[]> {
  const items = await Promise.all(chats.map(({ workspaceId, id }) => table.get(keys.chat(workspaceId, id))));
  return items.flatMap((item, index) => {
    if (item === undefined) return [];
    const chat = chatOf(item);
    return unchanged && !isDeepStrictEqual(chat, chats[index]) ? [] : [{ chat, item }];
  });
}

async function deleting(
  table: Table,
  found: readonly Found[],
  deletedAt: string,
  { unchanged }: { unchanged: boolean },
): Promise<Write[]> {
  const removals = await planRemoval(
    table,
    found.map(({ chat, item }) => ({ chat, first: item.entry as number })),
  );
  return [
    ...found.flatMap(({ chat, item }) => [
      {
        Delete: {
          Key: keys.chat(chat.workspaceId, chat.id),
          ...(unchanged ? isAsRead(chat) : { ConditionExpression: 'attribute_exists(agent_id)' }),
        },
      },
      { Put: { Item: purgeItem({ workspaceId: chat.workspaceId, chatId: chat.id, deletedAt }, item) } },
    ]),
    ...removals,
  ];
}

/** Each use of a chat changes one of these attributes. */
const isAsRead = ({ updatedAt, messageCount, lease }: Chat) => ({
  ConditionExpression: `updated_at = :updated AND message_count = :count AND ${
    lease === null ? 'attribute_not_exists(lease_id)' : 'lease_id = :lease AND lease_until = :until'
  }`,
  ExpressionAttributeValues: {
    ':updated': updatedAt,
    ':count': messageCount,
    ...(lease !== null && { ':lease': lease.id, ':until': lease.until }),
  },
});
