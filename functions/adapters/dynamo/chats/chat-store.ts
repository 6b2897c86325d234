import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { backOff } from '#adapters/dynamo/table/back-off.ts';
import { readHead, readIds } from '#adapters/dynamo/table/id-lists.ts';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { failedConditions, isConflict, type Table } from '#adapters/dynamo/table/table.ts';
import { idempotencyWrites } from '#adapters/dynamo/workspaces/idempotency-store.ts';
import type { Chat } from '#domain/chats/chat.ts';
import type { ChatFilter, ChatStore, NewChat } from '#domain/chats/chat-store.ts';
import type { Clock } from '#domain/platform/clock.ts';
import type { IdempotencyKey, Work } from '#domain/platform/idempotency-record.ts';
import { chatOf } from './chat-item.ts';
import { planChats } from './plan-chats.ts';
import { type Release, releasing } from './release-lease.ts';

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

  /** Undefined when the key is in use. */
  const make = async (newChat: NewChat, key: IdempotencyKey | null): Promise<Chat | undefined> => {
    for (let attempt = 1; ; attempt += 1) {
      const { chats, writes } = await planChats(table, clock, newChat.workspaceId, [
        { ...newChat, lease: null },
      ]);
      const chat = chats[0] as Chat;
      const stored: Work = { is: 'chat', chatId: chat.id, createdAt: chat.createdAt };
      try {
        await table.transact((TableName) => [
          ...idempotencyWrites(TableName, key, stored),
          ...writes(TableName),
        ]);
        return chat;
      } catch (error) {
        if (key !== null && failedConditions(error)[0] === true) return undefined;
        if (!isConflict(error) || attempt === attemptsToCreate) throw error;
      }
      await backOff(attempt);
    }
  };

  return {
    async get(workspaceId, chatId) {
      const item = await table.get(keys.chat(workspaceId, chatId));
      return item && chatOf(item);
    },

    async create(newChat) {
      return (await make(newChat, null)) as Chat;
    },

    createWithKey: make,

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

    async takeOverLease(chat, lease) {
      const { lease: before } = chat;
      try {
        await table.update({
          Key: keyOf(chat),
          UpdateExpression: 'SET lease_id = :lease, lease_until = :until',
          ConditionExpression: `message_count = :count AND ${
            before === null ? 'attribute_not_exists(lease_id)' : 'lease_id = :before AND lease_until = :ended'
          }`,
          ExpressionAttributeValues: {
            ':lease': lease.id,
            ':until': lease.until,
            ':count': chat.messageCount,
            ...(before !== null && { ':before': before.id, ':ended': before.until }),
          },
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        });
        return true;
      } catch (error) {
        if (!(error instanceof ConditionalCheckFailedException)) throw error;
        // Taken by this very request: DynamoDB's answer got lost, and the SDK sent it once more.
        return error.Item?.lease_id?.S === lease.id;
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
  const head = await readHead<number>(table, keys.chatList(workspaceId, { agentId, externalUserId }));
  return {
    total: head.count,
    idsAt: (first, last) => readIds(table, head, first, last),
  };
}
