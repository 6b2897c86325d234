import { appending, readHead } from '#adapters/dynamo/table/id-lists.ts';
import { type ChatListKind, keys } from '#adapters/dynamo/table/keys.ts';
import type { Table, Write } from '#adapters/dynamo/table/table.ts';
import type { Chat, Lease } from '#domain/chats/chat.ts';
import type { NewChat } from '#domain/chats/chat-store.ts';
import { lastChatId } from '#domain/chats/message.ts';
import type { Clock } from '#domain/platform/clock.ts';
import { chatItem } from './chat-item.ts';

/**
 * The lists that store the chat's id. The list of all chats of the workspace is not stored, because its ids have no
 * gaps.
 */
const listsOf = ({ agentId, externalUserId }: NewChat): ChatListKind[] =>
  externalUserId === null ? [{ agentId }] : [{ agentId }, { externalUserId }, { agentId, externalUserId }];

/**
 * Plans chats and the writes that create them. The writes fail if another chat of the workspace was created since they
 * were planned.
 */
export async function planChats(
  table: Table,
  clock: Clock,
  workspaceId: string,
  newChats: readonly (NewChat & { lease: Lease | null })[],
): Promise<{ chats: Chat[]; writes: (TableName: string) => Write[] }> {
  const lists = new Map<string, { kind: ChatListKind; members: number[] }>();
  for (const [index, newChat] of newChats.entries())
    for (const kind of listsOf(newChat)) {
      const name = JSON.stringify([kind.agentId, kind.externalUserId]);
      const list = lists.get(name) ?? { kind, members: [] };
      list.members.push(index);
      lists.set(name, list);
    }
  const [counter, ...heads] = await Promise.all([
    table.get(keys.chatCount(workspaceId)),
    ...[...lists.values()].map(async ({ kind, members }) => ({
      head: await readHead<number>(table, keys.chatList(workspaceId, kind)),
      members,
    })),
  ]);
  const count = (counter?.count as number | undefined) ?? 0;
  if (count + newChats.length > lastChatId)
    throw new Error(`Workspace ${workspaceId} is full: it holds at most ${lastChatId} chats`);
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
    }),
  );
  return {
    chats,
    writes: (TableName) => [
      {
        Put: {
          TableName,
          Item: {
            ...keys.chatCount(workspaceId),
            count: count + newChats.length,
            newest_created_at: createdAt,
          },
          ...(count === 0
            ? { ConditionExpression: 'attribute_not_exists(pk)' }
            : {
                ConditionExpression: '#count = :count',
                ExpressionAttributeNames: { '#count': 'count' },
                ExpressionAttributeValues: { ':count': count },
              }),
        },
      },
      ...chats.map((chat) => ({
        Put: { TableName, Item: chatItem(chat), ConditionExpression: 'attribute_not_exists(pk)' },
      })),
      ...heads.flatMap(({ head, members }) =>
        appending(
          TableName,
          head,
          members.map((member) => count + 1 + member),
        ),
      ),
    ],
  };
}
