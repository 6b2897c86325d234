import type { Table } from '#adapters/dynamo/table/table.ts';
import { transactWithRetry } from '#adapters/dynamo/table/transact-with-retry.ts';
import { idempotencyWrites } from '#adapters/dynamo/workspaces/idempotency-store.ts';
import type { Chat } from '#domain/chats/chat.ts';
import type { NewChat, NewChatStore } from '#domain/chats/chat-store.ts';
import type { Clock } from '#domain/platform/clock.ts';
import type { IdempotencyKey } from '#domain/platform/idempotency-record.ts';
import { type PlannedChats, planChats } from './chat-writes.ts';

/** With the delays about 16 s. A creation meets others on one of 64 counts, so two attempts are rare. */
const maxAttempts = 100;

/** Milliseconds after which a creation takes another id. So a chat appears at most so late, below newer ones. */
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
  let planned: PlannedChats | undefined;
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
    // Only the key has a condition.
    onConditionFailed: () => ({ result: undefined }),
  });
}
