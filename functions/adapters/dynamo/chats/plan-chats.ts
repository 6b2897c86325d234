import { appending, type ListHead, readHead } from '#adapters/dynamo/table/id-lists.ts';
import { type ChatListKind, keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table, Write } from '#adapters/dynamo/table/table.ts';
import { batchIdIn, type Chat, type Lease } from '#domain/chats/chat.ts';
import type { NewChat } from '#domain/chats/chat-store.ts';
import { lastChatId } from '#domain/chats/message.ts';
import type { Clock } from '#domain/platform/clock.ts';
import { NotStorable } from '#domain/platform/not-storable.ts';
import { chatItem } from './chat-item.ts';

/**
 * The lists that store the chat's id. The list of all chats of the workspace is not stored, because its ids have no
 * gaps.
 */
export const listsOf = ({ agentId, externalUserId }: NewChat): ChatListKind[] =>
  externalUserId === null ? [{ agentId }] : [{ agentId }, { externalUserId }, { agentId, externalUserId }];

const nameOf = ({ agentId, externalUserId }: ChatListKind): string =>
  JSON.stringify([agentId, externalUserId]);

/** The names of the lists that store the chat's id: chats of one agent or of one user share some. */
export const listNamesOf = (newChat: NewChat): string[] => listsOf(newChat).map(nameOf);

/** What chats of a workspace must be appended to, as it was read. */
export interface ChatLists {
  workspaceId: string;
  counter: Item | undefined;
  heads: ReadonlyMap<string, ListHead<number>>;
}

/** Reads the workspace's count of chats and the lists that store the ids of these new chats, in one batch read. */
export async function readChatLists(
  table: Table,
  workspaceId: string,
  newChats: readonly NewChat[],
): Promise<ChatLists> {
  const kinds = new Map(newChats.flatMap(listsOf).map((kind) => [nameOf(kind), kind]));
  const [counter, ...heads] = await Promise.all([
    table.get(keys.chatCount(workspaceId)),
    ...[...kinds].map(
      async ([name, kind]): Promise<[string, ListHead<number>]> => [
        name,
        await readHead<number>(table, keys.chatList(workspaceId, kind)),
      ],
    ),
  ]);
  return { workspaceId, counter, heads: new Map(heads) };
}

export interface PlannedChats {
  chats: Chat[];
  writes: (TableName: string) => Write[];
}

/**
 * Plans chats and the writes that create them. The writes fail if another chat of the workspace was created since the
 * lists were read.
 */
export function planChats(
  { workspaceId, counter, heads }: ChatLists,
  clock: Clock,
  newChats: readonly (NewChat & { lease: Lease | null })[],
): PlannedChats {
  const count = (counter?.count as number | undefined) ?? 0;
  if (count + newChats.length > lastChatId)
    throw new NotStorable(`Workspace ${workspaceId} is full: it holds at most ${lastChatId} chats`);
  const newest = (counter?.newest_created_at as string | undefined) ?? '';
  const now = clock.now().toISOString();
  // The clocks of two functions may differ, but creation times must ascend with the ids.
  const createdAt = now.localeCompare(newest) > 0 ? now : newest;
  const chats = newChats.map(
    (newChat, index): Chat => ({
      ...newChat,
      id: count + 1 + index,
      createdAt,
      updatedAt: createdAt,
      messageCount: 0,
      ...(newChat.lease !== null && { batchId: batchIdIn(newChat.lease.id) }),
    }),
  );
  const idsByList = new Map<string, number[]>();
  /** @returns the list index of the id */
  const append = (name: string, id: number): number => {
    const ids = idsByList.get(name) ?? [];
    idsByList.set(name, ids);
    return (heads.get(name)?.count ?? 0) + ids.push(id) - 1;
  };
  const items = chats.map((chat) =>
    chatItem(
      chat,
      listNamesOf(chat).map((name) => append(name, chat.id)),
    ),
  );
  return {
    chats,
    writes: (TableName) => [
      countUpdate(TableName, workspaceId, { before: count, after: count + chats.length, createdAt }),
      ...items.map((Item) => ({
        Put: { TableName, Item, ConditionExpression: 'attribute_not_exists(pk)' },
      })),
      ...[...idsByList].flatMap(([name, ids]) =>
        appending(TableName, heads.get(name) as ListHead<number>, ids),
      ),
    ],
  };
}

const countUpdate = (
  TableName: string,
  workspaceId: string,
  { before, after, createdAt }: { before: number; after: number; createdAt: string },
): Write => ({
  Update: {
    TableName,
    Key: keys.chatCount(workspaceId),
    UpdateExpression: 'SET #count = :after, newest_created_at = :createdAt',
    ConditionExpression: before === 0 ? 'attribute_not_exists(#count)' : '#count = :before',
    ExpressionAttributeNames: { '#count': 'count' },
    ExpressionAttributeValues: {
      ':after': after,
      ':createdAt': createdAt,
      ...(before > 0 && { ':before': before }),
    },
  },
});
