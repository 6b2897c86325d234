import { chatItem } from '#adapters/dynamo/chats/chat-items.ts';
import { attributesOf } from '#adapters/dynamo/chats/message-item.ts';
import { keys, type ListKeys } from '#adapters/dynamo/table/keys.ts';
import { isReplyPosition, type Message } from '#domain/chats/message.ts';
import { replyMessage, userMessage } from './messages.ts';

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
 * The items of a workspace's chats 1 to `count`, all of one agent and one user, each with its entries, as the service
 * stores them. The counts of lists are those of all chats.
 */
export function* chatItems(seeded: SeededChats): Generator<Item> {
  const { workspaceId, agentId, externalUserId, count, messageCounts = {}, name = 'Seeded' } = seeded;
  yield { ...keys.lastNumber(workspaceId, 'CHATS'), last_id: count, last_at: at };
  const [all, ofAgent, ofUser] = [{}, { agentId }, { externalUserId }].map((kind) =>
    keys.chatList(workspaceId, kind),
  ) as [ListKeys, ListKeys, ListKeys];
  for (const [name, n] of countsTo(count)) {
    yield { ...all.count(name), n };
    yield { ...ofAgent.count(name), n };
    yield { ...ofUser.count(name), n, [agentId]: n };
  }
  for (const id of existing(seeded)) {
    yield { ...all.entry(id) };
    yield { ...ofAgent.entry(id) };
    yield { ...ofUser.entry(id), by_agent: { [agentId]: [id] } };
    const messageCount = messageCounts[id] ?? 0;
    const times = { createdAt: at, updatedAt: at };
    yield chatItem(
      { ...{ id, workspaceId, agentId, externalUserId, name }, ...times, messageCount, lease: null },
      id,
    );
  }
}

/** The counts of a list of the chats 1 to `count` (adapters/dynamo/table/lists.ts). */
function countsTo(count: number): Map<string, number> {
  const counts = new Map<string, number>();
  for (let id = 1; id <= count; id += 1) {
    const name = `${id >> 17}#${Math.imul(id, 2_654_435_769) >>> 26}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
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
    ? replyMessage(position, content, { createdAt: at, agentVersionId: null })
    : userMessage(position, content, { createdAt: at });
