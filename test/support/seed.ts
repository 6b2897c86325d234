import { attributesOf } from '#adapters/dynamo/chats/message-item.ts';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { isReplyPosition, type Message, noUsage } from '#domain/chats/message.ts';

type Item = Record<string, unknown>;

const at = '2026-01-01T00:00:00.000Z';

export interface SeededChats {
  workspaceId: string;
  agentId: string;
  externalUserId: string;
  count: number;
  /** The number of messages by chat id; 0 for all other chats. */
  messageCounts?: Record<number, number>;
  name?: string;
}

/**
 * The items of a workspace's chats 1 to `count`, all of one agent and one user, with all their lists, as the service
 * stores them.
 */
export function* chatItems(seeded: SeededChats): Generator<Item> {
  const { workspaceId, agentId, externalUserId, count, messageCounts = {}, name = 'Seeded' } = seeded;
  yield { ...keys.chatCount(workspaceId), count, newest_created_at: at };
  for (const list of [{ agentId }, { externalUserId }, { agentId, externalUserId }]) {
    // The newest 1 to 100 ids are in the head.
    const chunks = Math.floor((count - 1) / 100);
    for (let chunk = 0; chunk < chunks; chunk += 1)
      yield { ...keys.chatList(workspaceId, list).chunk(chunk), ids: idsFrom(chunk * 100 + 1, 100) };
    const newest_ids = idsFrom(chunks * 100 + 1, count - chunks * 100);
    yield { ...keys.chatList(workspaceId, list).head, count, newest_ids };
  }
  for (let id = 1; id <= count; id += 1)
    yield {
      ...keys.chat(workspaceId, id),
      id,
      workspace_id: workspaceId,
      agent_id: agentId,
      name,
      external_user_id: externalUserId,
      created_at: at,
      updated_at: at,
      message_count: messageCounts[id] ?? 0,
    };
}

const idsFrom = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, index) => first + index);

/** The items of `count` messages of a chat, from the position `first` on, by default 1. */
export function* messageItems(seeded: {
  workspaceId: string;
  chatId: number;
  first?: number;
  count: number;
  content: (position: number) => string;
}): Generator<Item> {
  const { workspaceId, chatId, first = 1, count, content } = seeded;
  for (let position = first; position < first + count; position += 1)
    yield {
      ...keys.message(workspaceId, chatId, position),
      ...attributesOf(messageAt(position, content(position))),
      content: content(position),
    };
}

const messageAt = (position: number, content: string): Message =>
  isReplyPosition(position)
    ? {
        role: 'assistant',
        position,
        content,
        createdAt: at,
        agentVersionId: null,
        reasoningSteps: [],
        tokenUsage: noUsage,
        error: null,
        incomplete: null,
      }
    : { role: 'user', position, content, attachments: [], createdAt: at };
