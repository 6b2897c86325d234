import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { Chat, Lease } from '#domain/chat.ts';
import { lastChatId } from '#domain/message.ts';
import type { ChatFilter, ChatStore, NewChat } from '#domain/ports/chat-store.ts';
import type { Clock } from '#domain/ports/clock.ts';
import { backOff } from './back-off.ts';
import { appending, readHead, readIds } from './chat-lists.ts';
import { type ChatListKind, keys } from './keys.ts';
import { type Release, releasing } from './release-lease.ts';
import { type Item, isConflict, type Table, type Write } from './table.ts';

const leaseOf = (item: Item): Lease | null =>
  item.lease_id === undefined ? null : { id: item.lease_id as string, until: item.lease_until as number };

const chatOf = (item: Item): Chat => ({
  id: item.id as number,
  workspaceId: item.workspace_id as string,
  agentId: item.agent_id as string,
  name: item.name as string,
  externalUserId: (item.external_user_id as string | undefined) ?? null,
  createdAt: item.created_at as string,
  updatedAt: item.updated_at as string,
  messageCount: item.message_count as number,
  lease: leaseOf(item),
});

const itemOf = (chat: Chat): Item => ({
  ...keys.chat(chat.workspaceId, chat.id),
  id: chat.id,
  workspace_id: chat.workspaceId,
  agent_id: chat.agentId,
  name: chat.name,
  ...(chat.externalUserId !== null && { external_user_id: chat.externalUserId }),
  created_at: chat.createdAt,
  updated_at: chat.updatedAt,
  message_count: chat.messageCount,
});

/** The lists that a chat is in, besides that of the whole workspace, which is its dense ids themselves. */
const listsOf = ({ agentId, externalUserId }: NewChat): ChatListKind[] =>
  externalUserId === null ? [{ agentId }] : [{ agentId }, { externalUserId }, { agentId, externalUserId }];

/** A hundred chats created at once in one workspace need 40 at the most; a request ends at 29 s. */
const attemptsToCreate = 200;

export function dynamoChatStore(table: Table, clock: Clock): ChatStore {
  const keyOf = (chat: Chat) => keys.chat(chat.workspaceId, chat.id);

  const updateUnderLease = async (update: Release): Promise<boolean> => {
    try {
      await table.update(update);
      return true;
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) return false;
      throw error;
    }
  };

  return {
    async get(workspaceId, chatId) {
      const item = await table.get(keys.chat(workspaceId, chatId));
      return item && chatOf(item);
    },

    async create(newChat) {
      for (let attempt = 1; ; attempt += 1) {
        const { chat, writes } = await planCreation(table, clock, newChat);
        try {
          await table.transact(writes);
          return chat;
        } catch (error) {
          if (!isConflict(error) || attempt === attemptsToCreate) throw error;
        }
        await backOff(attempt);
      }
    },

    async page(filter, { limit, offset, ascending }) {
      const { total, idsAt } = await openList(table, filter);
      const [first, last] = ascending
        ? [offset, Math.min(offset + limit, total) - 1]
        : [Math.max(total - offset - limit, 0), total - offset - 1];
      if (last < first) return { total, chats: [] };
      const ids = await idsAt(first, last);
      const items = await Promise.all(ids.map((id) => table.getNamed(keys.chat(filter.workspaceId, id))));
      const chats = items.map(chatOf);
      return { total, chats: ascending ? chats : chats.reverse() };
    },

    async takeLease({ workspaceId, chatId, agentId, externalUserId, lease, now }) {
      try {
        const item = await table.update({
          Key: keys.chat(workspaceId, chatId),
          UpdateExpression: 'SET lease_id = :lease, lease_until = :until, updated_at = :now',
          ConditionExpression: `agent_id = :agent AND attribute_not_exists(lease_id) AND ${
            externalUserId === undefined
              ? 'attribute_not_exists(external_user_id)'
              : '(attribute_not_exists(external_user_id) OR external_user_id = :user)'
          }`,
          ExpressionAttributeValues: {
            ':lease': lease.id,
            ':until': lease.until,
            ':now': now,
            ':agent': agentId,
            ...(externalUserId !== undefined && { ':user': externalUserId }),
          },
          ReturnValues: 'ALL_NEW',
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        });
        return { taken: true, chat: chatOf(item) };
      } catch (error) {
        if (!(error instanceof ConditionalCheckFailedException)) throw error;
        const chat = error.Item && chatOf(unmarshall(error.Item));
        // Taken by this very request: DynamoDB's answer got lost, and the SDK sent it once more.
        if (chat?.lease?.id === lease.id) return { taken: true, chat };
        return { taken: false, chat };
      }
    },

    async openTurn(chat) {
      const [user, reply] = await Promise.all(
        [1, 2].map((ahead) => table.get(keys.message(chat.workspaceId, chat.id, chat.messageCount + ahead))),
      );
      return { user: user !== undefined, reply: reply !== undefined };
    },

    renewLease: (chat, leaseId, until) =>
      updateUnderLease({
        Key: keyOf(chat),
        UpdateExpression: 'SET lease_until = :until',
        ConditionExpression: 'lease_id = :lease',
        ExpressionAttributeValues: { ':until': until, ':lease': leaseId },
      }),

    releaseLease: (chat, leaseId, messageCount) => updateUnderLease(releasing(chat, leaseId, messageCount)),

    async rename(chat, name, now) {
      await table.update({
        Key: keyOf(chat),
        UpdateExpression: 'SET #name = :name, updated_at = :now',
        ExpressionAttributeNames: { '#name': 'name' },
        ExpressionAttributeValues: { ':name': name, ':now': now },
      });
    },
  };
}

/** The chat as it would be created now, and the transaction that creates it unless another comes first. */
async function planCreation(
  table: Table,
  clock: Clock,
  newChat: NewChat,
): Promise<{ chat: Chat; writes: (TableName: string) => Write[] }> {
  const { workspaceId } = newChat;
  const [counter, ...heads] = await Promise.all([
    table.get(keys.chatCount(workspaceId)),
    ...listsOf(newChat).map((list) => readHead(table, workspaceId, list)),
  ]);
  const count = (counter?.count as number | undefined) ?? 0;
  if (count === lastChatId) throw new Error(`Workspace ${workspaceId} is full: it holds ${lastChatId} chats`);
  const newest = (counter?.newest_created_at as string | undefined) ?? '';
  const now = clock.now().toISOString();
  // Clocks of two functions may differ; creation times still rise with the ids.
  const createdAt = now.localeCompare(newest) > 0 ? now : newest;
  const chat: Chat = {
    ...newChat,
    id: count + 1,
    createdAt,
    updatedAt: createdAt,
    messageCount: 0,
    lease: null,
  };
  return {
    chat,
    writes: (TableName) => [
      {
        Put: {
          TableName,
          Item: { ...keys.chatCount(workspaceId), count: chat.id, newest_created_at: createdAt },
          ...(count === 0
            ? { ConditionExpression: 'attribute_not_exists(pk)' }
            : {
                ConditionExpression: '#count = :count',
                ExpressionAttributeNames: { '#count': 'count' },
                ExpressionAttributeValues: { ':count': count },
              }),
        },
      },
      { Put: { TableName, Item: itemOf(chat), ConditionExpression: 'attribute_not_exists(pk)' } },
      ...heads.flatMap((head) => appending(TableName, workspaceId, head, chat.id)),
    ],
  };
}

/** How many chats a list has, and their ids by place (counted from 0, ascending). */
async function openList(
  table: Table,
  { workspaceId, agentId, externalUserId }: ChatFilter,
): Promise<{ total: number; idsAt: (first: number, last: number) => Promise<number[]> }> {
  if (agentId === undefined && externalUserId === undefined) {
    const counter = await table.get(keys.chatCount(workspaceId));
    return {
      total: (counter?.count as number | undefined) ?? 0,
      idsAt: async (first, last) => Array.from({ length: last - first + 1 }, (_, index) => first + index + 1),
    };
  }
  const head = await readHead(table, workspaceId, { agentId, externalUserId });
  return {
    total: head.count,
    idsAt: (first, last) => readIds(table, workspaceId, head, first, last),
  };
}
