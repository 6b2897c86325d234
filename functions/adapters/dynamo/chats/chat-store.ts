import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { readHead, readIds } from '#adapters/dynamo/table/id-lists.ts';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Table } from '#adapters/dynamo/table/table.ts';
import { transactWithRetry } from '#adapters/dynamo/table/transact-with-retry.ts';
import { idempotencyWrites } from '#adapters/dynamo/workspaces/idempotency-store.ts';
import type { Chat } from '#domain/chats/chat.ts';
import type { ChatFilter, ChatStore, LeaseRequest, NewChat } from '#domain/chats/chat-store.ts';
import type { Clock } from '#domain/platform/clock.ts';
import type { IdempotencyKey, Work } from '#domain/platform/idempotency-record.ts';
import { chatOf } from './chat-item.ts';
import { planChats } from './plan-chats.ts';
import { type Release, releasing } from './release-lease.ts';

/**
 * Measured: of a hundred concurrent creations in one workspace, each needs at most 40 attempts. 200 attempts take about
 * 32 s with the delays, longer than a request may take (29 s), so this limit rejects no request.
 */
const attemptsToCreate = 200;

export const dynamoChatStore = (table: Table, clock: Clock): ChatStore => ({
  get: get(table),
  create: async (newChat) => (await create(table, clock, newChat, null)) as Chat,
  createWithKey: (newChat, key) => create(table, clock, newChat, key),
  page: page(table),
  rename: rename(table),
  takeLease: takeLease(table),
  takeOverLease: takeOverLease(table),
  openTurn: openTurn(table),
  renewLease: renewLease(table),
  releaseLease: (chat, leaseId, messageCount) =>
    updateUnderLease(table, releasing(chat, leaseId, messageCount)),
});

const get =
  (table: Table): ChatStore['get'] =>
  async (workspaceId, chatId) => {
    const item = await table.get(keys.chat(workspaceId, chatId));
    return item && chatOf(item);
  };

/** Returns undefined if the idempotency key is in use. */
const create = (
  table: Table,
  clock: Clock,
  newChat: NewChat,
  key: IdempotencyKey | null,
): Promise<Chat | undefined> =>
  transactWithRetry<Chat | undefined>(table, {
    attempts: attemptsToCreate,
    plan: async () => {
      const planned = await planChats(table, clock, newChat.workspaceId, [{ ...newChat, lease: null }]);
      const chat = planned.chats[0] as Chat;
      const work: Work = { is: 'chat', chatId: chat.id, createdAt: chat.createdAt };
      return {
        writes: (TableName) => [...idempotencyWrites(TableName, key, work), ...planned.writes(TableName)],
        result: chat,
      };
    },
    onConditionFailed: ([isFirst]) => (key !== null && isFirst === true ? { result: undefined } : undefined),
  });

const page =
  (table: Table): ChatStore['page'] =>
  async (filter, { limit, offset, ascending }) => {
    const { total, idsAt } = await openList(table, filter);
    const [first, last] = ascending
      ? [offset, Math.min(offset + limit, total) - 1]
      : [Math.max(total - offset - limit, 0), total - offset - 1];
    if (last < first) return { total, chats: [] };
    const ids = await idsAt(first, last);
    const items = await Promise.all(ids.map((id) => table.getNamed(keys.chat(filter.workspaceId, id))));
    const chats = items.map(chatOf);
    return { total, chats: ascending ? chats : chats.reverse() };
  };

/** The number of chats in a list, and their ids by index (from 0, ascending). */
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

const rename =
  (table: Table): ChatStore['rename'] =>
  async (chat, name, now) => {
    await table.update({
      Key: keyOf(chat),
      UpdateExpression: 'SET #name = :name, updated_at = :now',
      ExpressionAttributeNames: { '#name': 'name' },
      ExpressionAttributeValues: { ':name': name, ':now': now },
    });
  };

const takeLease =
  (table: Table): ChatStore['takeLease'] =>
  async (given) => {
    const { lease, request } = given;
    try {
      const item = await table.update({
        ...leaseUpdate(given),
        ReturnValues: 'ALL_NEW',
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      });
      return { taken: true, chat: chatOf(item) };
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      const item = error.Item && unmarshall(error.Item);
      const chat = item && chatOf(item);
      // This request has written the lease: the response was lost, and the SDK retried the write.
      if (chat?.lease?.id === lease.id) return { taken: true, chat };
      const hasStarted = request !== undefined && item?.request_id === request.id;
      return { taken: false, chat, startedAt: hasStarted ? item.request_count + 1 : undefined };
    }
  };

/** The update that takes the lease, with the conditions of `ChatStore.takeLease`. */
function leaseUpdate({ workspaceId, chatId, agentId, externalUserId, lease, now, request }: LeaseRequest) {
  const updates = ['lease_id = :lease, lease_until = :until, updated_at = :now'];
  const conditions = ['agent_id = :agent AND attribute_not_exists(lease_id)'];
  if (request !== undefined) updates.push('request_id = :request, request_count = message_count');
  conditions.push(
    externalUserId === undefined
      ? 'attribute_not_exists(external_user_id)'
      : '(attribute_not_exists(external_user_id) OR external_user_id = :user)',
  );
  if (request?.isFurtherAttempt === false)
    conditions.push('(attribute_not_exists(request_id) OR request_id <> :request)');
  return {
    Key: keys.chat(workspaceId, chatId),
    UpdateExpression: `SET ${updates.join(', ')}`,
    ConditionExpression: conditions.join(' AND '),
    ExpressionAttributeValues: {
      ':lease': lease.id,
      ':until': lease.until,
      ':now': now,
      ':agent': agentId,
      ...(externalUserId !== undefined && { ':user': externalUserId }),
      ...(request !== undefined && { ':request': request.id }),
    },
  };
}

const takeOverLease =
  (table: Table): ChatStore['takeOverLease'] =>
  async (chat, lease) => {
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
      // This request has written the lease: the response was lost, and the SDK retried the write.
      return error.Item?.lease_id?.S === lease.id;
    }
  };

const openTurn =
  (table: Table): ChatStore['openTurn'] =>
  async (chat) => {
    const [user, reply] = await Promise.all(
      [1, 2].map((ahead) => table.get(keys.message(chat.workspaceId, chat.id, chat.messageCount + ahead))),
    );
    return { user: user !== undefined, reply: reply !== undefined };
  };

const renewLease =
  (table: Table): ChatStore['renewLease'] =>
  (chat, leaseId, until) =>
    updateUnderLease(table, {
      Key: keyOf(chat),
      UpdateExpression: 'SET lease_until = :until',
      ConditionExpression: 'lease_id = :lease',
      ExpressionAttributeValues: { ':until': until, ':lease': leaseId },
    });

async function updateUnderLease(table: Table, update: Release): Promise<boolean> {
  try {
    await table.update(update);
    return true;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return false;
    throw error;
  }
}

const keyOf = (chat: Chat) => keys.chat(chat.workspaceId, chat.id);
