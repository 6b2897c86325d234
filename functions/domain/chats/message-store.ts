import type { IdempotencyKey } from '#domain/platform/idempotency-record.ts';
import type { Chat } from './chat.ts';
import type { Message, UserMessage } from './message.ts';

export interface RatedMessage {
  message: Message;
  /** Number of users by feedback type. */
  feedbackCounts: Record<string, number>;
}

export interface MessageStore {
  /**
   * Stores a message at its position. False if the position has another message.
   * @throws NotStorable if no retry can store it
   */
  put(chat: Chat, message: Message): Promise<boolean>;
  /** Stores a user message and the idempotency record of its request, in one transaction. */
  putWithKey(
    chat: Chat,
    message: UserMessage,
    key: IdempotencyKey,
  ): Promise<'stored' | 'position-taken' | 'key-in-use'>;
  /** Stores the last message of a turn, releases the chat lease and sets the count, in one transaction. */
  putAndRelease(
    chat: Chat,
    leaseId: string,
    message: Message,
  ): Promise<'stored' | 'lease-lost' | 'position-taken'>;
  /** The messages at the positions first to last, in pages that fit into memory. */
  range(
    chat: Pick<Chat, 'workspaceId' | 'id'>,
    range: { first: number; last: number; ascending: boolean },
  ): AsyncIterable<RatedMessage[]>;
  /** The text of a stored message; undefined if its chat was deleted. */
  contentAt(workspaceId: string, chatId: number, position: number): Promise<string | undefined>;
  /**
   * The newest messages up to a position, oldest first: at most `characters` of text, a million characters of reasoning
   * steps, and 1,000 messages. Older messages are not read. Turns that prompts must do without are left out, and their
   * characters do not count.
   * @param upTo the position. While a promise is pending, the newest messages are read concurrently. If these messages
   * end before the position, which is rare, they are read again. For 0 the result is empty.
   */
  recent(
    chat: Pick<Chat, 'workspaceId' | 'id'>,
    upTo: number | Promise<number>,
    characters: number,
  ): Promise<Message[]>;
}
