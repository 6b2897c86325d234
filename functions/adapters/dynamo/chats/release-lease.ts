import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import type { Chat } from '#domain/chats/chat.ts';

interface Release {
  Key: Key;
  UpdateExpression: string;
  ConditionExpression: string;
  ExpressionAttributeValues: Record<string, unknown>;
}

/**
 * The update that releases the chat lease and sets the message count. Condition: the chat still has the lease `leaseId`,
 * or it has none and the count of `chat`: the lease was released before the turn was stored, and no other turn has
 * started.
 */
export const releasing = (chat: Chat, leaseId: string, messageCount: number): Release => ({
  Key: keys.chat(chat.workspaceId, chat.id),
  UpdateExpression: 'SET message_count = :count REMOVE lease_id, lease_until',
  ConditionExpression: 'lease_id = :lease OR (attribute_not_exists(lease_id) AND message_count = :before)',
  ExpressionAttributeValues: { ':count': messageCount, ':lease': leaseId, ':before': chat.messageCount },
});
