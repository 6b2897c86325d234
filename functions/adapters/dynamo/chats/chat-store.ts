import { keys } from '#adapters/dynamo/table/keys.ts';
import { readPage } from '#adapters/dynamo/table/lists.ts';
import { changing, changingIf, getAs, type Item, type Table } from '#adapters/dynamo/table/table.ts';
import { transactWithRetry } from '#adapters/dynamo/table/transact-with-retry.ts';
import { idempotencyWrites } from '#adapters/dynamo/workspaces/request-store.ts';
import { unlessEmpty } from '#contract/metadata.ts';
import type { Chat, ChatPages, ChatStore, LeaseRequest, NewChat, NewChatStore } from '#domain/chats/chat.ts';
import type { IdempotencyKey } from '#domain/platform/idempotency.ts';
import type { Clock } from '#domain/platform/services.ts';
import { chatOf, idsIn, leaseItem, metadataItem, planChats, releasing } from './chat-items.ts';

/** How often at most a page is read again while a chat on it is missing, such as one that was deleted meanwhile. */
const rereads = 3;

export const dynamoChatPages = (table: Table): ChatPages => ({
  async page({ workspaceId, agentId, externalUserId }, page) {
    const list = keys.chatList(workspaceId, { agentId, externalUserId });
    // The chats of an agent and a user are found in the user's list, which also counts them by agent.
    const ofAgent = externalUserId === undefined ? undefined : agentId;
    const reading = {
      count: ofAgent ?? 'n',
      numbersIn: (entry: Parameters<typeof idsIn>[0]) => idsIn(entry, ofAgent),
    };
    for (let attempt = 0; ; attempt += 1) {
      const { total, listed, ends } = await readPage(table, list, page, reading);
      const items = await Promise.all(listed.map(({ number }) => table.get(keys.chat(workspaceId, number))));
      if (items.includes(undefined) && attempt < rereads) continue;
      return { total, ends, chats: items.flatMap((item) => (item === undefined ? [] : [chatOf(item)])) };
    }
  },
});

/** The pauses between the attempts take about 15 s on average. */
const maxAttempts = 100;

/**
 * Milliseconds after which the next attempt takes another id. With the first id, a chat could appear in its lists long
 * after chats with higher ids.
 */
const idLifetime = 2000;

export const dynamoNewChatStore = (table: Table, clock: Clock): NewChatStore => ({
  create: async (newChat) => (await create(table, clock, newChat, null)) as Chat,
  createWithKey: (newChat, key) => create(table, clock, newChat, key),
});

async function create(
  table: Table,
  clock: Clock,
  newChat: NewChat,
  key: IdempotencyKey | null,
): Promise<Chat | undefined> {
  let planned: Awaited<ReturnType<typeof planChats>> | undefined;
  let lastUse = 0;
  return transactWithRetry<Chat | undefined>(table, {
    attempts: maxAttempts,
    plan: async () => {
      const now = clock.now().getTime();
      if (planned === undefined || now > lastUse) {
        planned = await planChats(table, clock, [{ ...newChat, lease: null }]);
        lastUse = now + idLifetime;
      }
      const { chats, writes } = planned;
      const chat = chats[0] as Chat;
      const work = { is: 'chat', chatId: chat.id, createdAt: chat.createdAt } as const;
      return { writes: [...idempotencyWrites(key, work), ...writes], result: chat };
    },
    // Only the write of the idempotency key has a condition that can fail.
    onConditionFailed: () => ({ result: undefined }),
  });
}

export const dynamoChatStore = (table: Table): ChatStore => ({
  get: (workspaceId, chatId) => getAs(table, keys.chat(workspaceId, chatId), chatOf),

  async change(chat, { name, metadata }, now) {
    const { isDone, item } = await table.updateIf({
      Key: keyOf(chat),
      ...changingIf(
        {
          updated_at: now,
          ...(name !== undefined && { name, renamed: true }),
          ...(metadata && { metadata: metadataItem(unlessEmpty(metadata)).metadata ?? null }),
        },
        { agent_id: chat.agentId, ...(metadata && metadataItem(chat.metadata)) },
      ),
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    return isDone ? { isDone } : { isDone, chat: item && chatOf(item) };
  },

  setTitle: (chat, title, now) =>
    isUpdated(table, {
      Key: keyOf(chat),
      ...changing({ name: title, updated_at: now }),
      ConditionExpression: 'attribute_exists(agent_id) AND attribute_not_exists(renamed)',
    }),

  async openTurn(chat) {
    const [user, reply] = await Promise.all(
      [1, 2].map((ahead) => table.get(keys.message(chat.workspaceId, chat.id, chat.messageCount + ahead))),
    );
    return { user: user !== undefined, reply: reply !== undefined };
  },

  ...leases(table),
  releaseLease: (chat, leaseId, messageCount) => isUpdated(table, releasing(chat, leaseId, messageCount)),
});

const leases = (table: Table) =>
  ({
    async takeLease(given) {
      const { lease, request } = given;
      const { isDone, item } = await table.updateIf({
        ...leaseUpdate(given),
        ReturnValues: 'ALL_NEW',
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      });
      const chat = item && chatOf(item);
      // The stored lease may be this one: the SDK repeats a write whose response was lost.
      if (chat !== undefined && (isDone || chat.lease?.id === lease.id)) return { taken: true, chat };
      const hasStarted = request !== undefined && item?.request_id === request.id;
      return { taken: false, chat, startedAt: hasStarted ? (item.request_count as number) + 1 : undefined };
    },

    async takeOverLease(chat, lease) {
      const { isDone, item } = await table.updateIf({
        Key: keyOf(chat),
        ...changingIf(leaseItem(lease), { message_count: chat.messageCount, ...leaseItem(chat.lease) }),
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      });
      return isDone || item?.lease_id === lease.id;
    },

    renewLease: (chat, leaseId, until) => updateUnlessStopped(table, chat, leaseId, { lease_until: until }),

    stopLease: (chat, leaseId, until) =>
      updateUnlessStopped(table, chat, leaseId, { lease_until: until, stop_lease: leaseId }),

    async acknowledgeStop(chat, leaseId, until) {
      await table.updateIf({
        Key: keyOf(chat),
        ...changingIf({ lease_until: until }, { lease_id: leaseId }),
      });
    },
  }) satisfies Partial<ChatStore>;

function leaseUpdate({ workspaceId, chatId, agentId, externalUserId, lease, now, request }: LeaseRequest) {
  const updates = ['lease_id = :lease, lease_until = :until, updated_at = :now'];
  const conditions = ['agent_id = :agent AND (attribute_not_exists(lease_id) OR lease_id = :lease)'];
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

/** @returns whether the chat has the lease, even if its reply is stopped */
async function updateUnlessStopped(
  table: Table,
  chat: Chat,
  leaseId: string,
  changes: Item,
): Promise<boolean> {
  const { isDone, item } = await table.updateIf({
    Key: keyOf(chat),
    ...changing(changes, { ':lease': leaseId }),
    ConditionExpression: 'lease_id = :lease AND (attribute_not_exists(stop_lease) OR stop_lease <> :lease)',
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  });
  return isDone || item?.lease_id === leaseId;
}

const isUpdated = async (table: Table, update: Parameters<Table['update']>[0]): Promise<boolean> =>
  (await table.updateIf(update)).isDone;

const keyOf = (chat: Chat) => keys.chat(chat.workspaceId, chat.id);
