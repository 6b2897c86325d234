import { isDeepStrictEqual } from 'node:util';
import { leafOf, markingGone } from '#adapters/dynamo/table/gone-indexes.ts';
import { findIndex, type ListHead, readHead } from '#adapters/dynamo/table/id-lists.ts';
import { type ChatListKind, keys, type ListKeys } from '#adapters/dynamo/table/keys.ts';
import { removeList } from '#adapters/dynamo/table/remove-list.ts';
import type { Item, Table, Write } from '#adapters/dynamo/table/table.ts';
import { transactWithRetry } from '#adapters/dynamo/table/transact-with-retry.ts';
import type { Chat } from '#domain/chats/chat.ts';
import type { ChatDeletion } from '#domain/chats/chat-store.ts';
import { existingChatOf, tombstone } from './chat-item.ts';
import { listsOf } from './plan-chats.ts';
import { purgeItem } from './purge-outbox.ts';

/** With the delays about 16 s. Deletions of one workspace write the same root, so one at a time succeeds. */
const attempts = 100;

/** DynamoDB's limit of one transaction: 44 chats of one agent and one user, or 11 of as many agents. */
const maxWrites = 100;

export const dynamoChatDeletion = (table: Table): ChatDeletion => ({
  delete: (chats, deletedAt) => deleteChats(table, chats, deletedAt, { unchanged: false }),
  deleteUnchanged: (chats, deletedAt) => deleteChats(table, chats, deletedAt, { unchanged: true }),

  async removeLists({ workspaceId, externalUserId }) {
    const kinds: ChatListKind[] = [{ externalUserId }];
    const agents = table.queryPages({
      KeyConditionExpression: 'pk = :pk AND begins_with(sk, :drafts)',
      ProjectionExpression: 'id',
      ExpressionAttributeValues: {
        ':pk': keys.agent(workspaceId, '').pk,
        ':drafts': keys.agent(workspaceId, '').sk,
      },
    });
    for await (const page of agents)
      kinds.push(...page.map(({ id }) => ({ agentId: id as string, externalUserId })));
    for (const kind of kinds) await removeList(table, keys.chatList(workspaceId, kind));
  },
});

/** @param only.unchanged chats that have changed since they were read stay */
async function deleteChats(
  table: Table,
  chats: readonly Chat[],
  deletedAt: string,
  only: { unchanged: boolean },
): Promise<Chat[]> {
  const deleted: Chat[] = [];
  let left = chats;
  while (left.length > 0) {
    const planned = await transactWithRetry(table, {
      attempts,
      plan: async () => {
        const { chosen, others } = fitting(await readEntries(table, left, only));
        const writes = await deleting(table, chosen, deletedAt, only);
        return { writes, result: { chosen, others } };
      },
    });
    deleted.push(...planned.chosen.map(({ chat }) => chat));
    left = planned.others.map(({ chat }) => chat);
  }
  return deleted;
}

/** An existing chat, with where its lists have it. */
interface Found {
  chat: Chat;
  item: Item;
  entries: Entry[];
}

interface Entry {
  list: ListKeys;
  index: number;
}

async function readEntries(
  table: Table,
  chats: readonly Chat[],
  { unchanged }: { unchanged: boolean },
): Promise<Found[]> {
  const found = chats.map(async (given): Promise<Found[]> => {
    const item = await table.get(keys.chat(given.workspaceId, given.id));
    const chat = existingChatOf(item);
    if (item === undefined || chat === undefined) return [];
    if (unchanged && !isDeepStrictEqual(chat, given)) return [];
    return [{ chat, item, entries: await entriesOf(table, chat, item.list_indexes as number[] | undefined) }];
  });
  return (await Promise.all(found)).flat();
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

/** The first chats, as many as one transaction can delete. */
function fitting(found: readonly Found[]): { chosen: readonly Found[]; others: readonly Found[] } {
  const shared = new Set<string>();
  let writes = 0;
  const end = found.findIndex(({ entries }) => {
    const needed = entries.flatMap(({ list, index }) => [
      `root of ${list.goneRoot.pk}`,
      `flag of ${list.goneRoot.pk}`,
      `leaf ${leafOf(index)} of ${list.goneRoot.pk}`,
    ]);
    writes += 2 + needed.filter((name) => !shared.has(name)).length;
    for (const name of needed) shared.add(name);
    return writes > maxWrites;
  });
  return end < 0 ? { chosen: found, others: [] } : { chosen: found.slice(0, end), others: found.slice(end) };
}

/** The writes that delete chats: a tombstone and a purge for each, and at most three for each list and further leaf. */
async function deleting(
  table: Table,
  found: readonly Found[],
  deletedAt: string,
  { unchanged }: { unchanged: boolean },
): Promise<(TableName: string) => Write[]> {
  const byList = Map.groupBy(
    found.flatMap(({ entries }) => entries),
    ({ list }) => list.goneRoot.pk,
  );
  const marks = await Promise.all(
    [...byList.values()].map(async ([first, ...others]) => {
      const { list, index } = first as Entry;
      const [head, mark] = await Promise.all([
        readHead<number>(table, list),
        markingGone(table, list, [index, ...others.map((other) => other.index)]),
      ]);
      return (TableName: string) => [...mark(TableName), ...flagging(TableName, head)];
    }),
  );
  return (TableName) => [
    ...found.flatMap(({ chat, item }) => [
      {
        Put: {
          TableName,
          Item: tombstone(chat, deletedAt, item.created_for),
          ...(unchanged ? isAsRead(chat) : { ConditionExpression: 'attribute_exists(agent_id)' }),
        },
      },
      {
        Put: {
          TableName,
          Item: purgeItem({ workspaceId: chat.workspaceId, chatId: chat.id, deletedAt }),
        },
      },
    ]),
    ...marks.flatMap((mark) => mark(TableName)),
  ];
}

/** Each use of a chat changes one of these attributes. A tombstone has none of them. */
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
