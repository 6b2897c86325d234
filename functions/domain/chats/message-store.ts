import type { IdempotencyKey } from '#domain/platform/idempotency-record.ts';
import type { Chat } from './chat.ts';
import type { Message, UserMessage } from './message.ts';

export interface RatedMessage {
  message: Message;
  /** Users by feedback type. */
  feedbackCounts: Record<string, number>;
}

export interface MessageStore {
  /**
   * Stores a message at its position. False when another message stands there.
   * @throws NotStorable when no retry can store it
   */
  put(chat: Chat, message: Message): Promise<boolean>;
  /** Stores a user's message, and keeps the key of its request with it: both, or nothing. */
  putWithKey(
    chat: Chat,
    message: UserMessage,
    key: IdempotencyKey,
  ): Promise<'stored' | 'position-taken' | 'key-in-use'>;
  /** Stores a turn's last message, frees the chat and moves its count to it: all of it, or nothing. */
  putAndRelease(
    chat: Chat,
    leaseId: string,
    message: Message,
  ): Promise<'stored' | 'lease-lost' | 'position-taken'>;
  /** The messages at positions first to last, in pages that fit into memory. */
  range(
    chat: Chat,
    range: { first: number; last: number; ascending: boolean },
  ): AsyncIterable<RatedMessage[]>;
  /** The text of a message that is known to be there. */
  contentAt(workspaceId: string, chatId: number, position: number): Promise<string>;
  /**
   * The newest messages up to a position, oldest first, at most so many characters of text and 1,000 messages. What is
   * beyond is not read; of steps there are a million characters.
   * @param upTo may still be on its way: the newest messages are read beside it, and again in the rare case that they
   *   end before it. When there is none after all, nothing is found.
   */
  recent(
    chat: Pick<Chat, 'workspaceId' | 'id'>,
    upTo: number | Promise<number>,
    characters: number,
  ): Promise<Message[]>;
}
