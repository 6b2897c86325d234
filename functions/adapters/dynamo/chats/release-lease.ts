import { keys } from '#adapters/dynamo/table/keys.ts';
import { changing } from '#adapters/dynamo/table/table.ts';
import type { Chat } from '#domain/chats/chat.ts';

/**
 * The update that releases the chat lease and sets the message count. Condition: the chat still has the lease `leaseId`,
 * or it has none and the count of `chat`: the lease was released before the turn was stored, and no other turn has
 * started.
 */
export const releasing = (chat: Chat, leaseId: string, messageCount: number) => ({
  Key: keys.chat(chat.workspaceId, chat.id),
  ...changing(
    { message_count: messageCount, lease_id: null, lease_until: null },
    { ':lease': leaseId, ':before': chat.messageCount },
  ),
  ConditionExpression: 'lease_id = :lease OR (attribute_not_exists(lease_id) AND message_count = :before)',
});
