import { chatItem } from '#adapters/dynamo/chats/chat-item.ts';
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
  /** Only the chats near these ids exist, and the parts of lists that name them. By default all. */
  near?: readonly number[];
}

/** So many chats on each side of an id in `near` exist: more than the largest page of a test. */
const nearby = 300;

/**
 * The items of a workspace's chats 1 to `count`, all of one agent and one user, with all their lists, as the service
 * stores them.
 */
export function* chatItems(seeded: SeededChats): Generator<Item> {
  const { workspaceId, agentId, externalUserId, count, messageCounts = {}, name = 'Seeded' } = seeded;
  const ids = existing(seeded);
  yield { ...keys.chatCount(workspaceId), count, newest_created_at: at };
  for (const list of [{ agentId }, { externalUserId }, { agentId, externalUserId }]) {
    // The newest 1 to 100 ids are in the head.
    const chunks = Math.floor((count - 1) / 100);
    const existingChunks = new Set(ids.map((id) => Math.floor((id - 1) / 100)));
    for (const chunk of existingChunks)
      if (chunk < chunks)
        yield { ...keys.chatList(workspaceId, list).chunk(chunk), ids: idsFrom(chunk * 100 + 1, 100) };
    const newest_ids = idsFrom(chunks * 100 + 1, count - chunks * 100);
    yield { ...keys.chatList(workspaceId, list).head, count, newest_ids };
  }
  for (const id of ids)
    yield chatItem({
      ...{ id, workspaceId, agentId, externalUserId, name },
      ...{ createdAt: at, updatedAt: at, messageCount: messageCounts[id] ?? 0, lease: null },
    });
}

/** The ids of the chats that exist, in ascending order. */
function existing({ count, near }: SeededChats): number[] {
  if (near === undefined) return idsFrom(1, count);
  const around = near.flatMap((id) => idsFrom(id - nearby, 2 * nearby + 1));
  return [...new Set(around)].filter((id) => id >= 1 && id <= count).sort((one, other) => one - other);
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
