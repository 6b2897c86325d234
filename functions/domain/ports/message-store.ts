import type { Chat } from '../chat.ts';
import type { Message } from '../message.ts';

export interface RatedMessage {
  message: Message;
  /** Users by feedback type. */
  feedbackCounts: Record<string, number>;
}

export interface MessageStore {
  /** Stores a message at its position. False when another message stands there. */
  put(chat: Chat, message: Message): Promise<boolean>;
  /** Which of the two messages of the turn that begins at a position are stored. */
  turnAt(chat: Chat, position: number): Promise<{ user: boolean; reply: boolean }>;
  /** The messages at positions first to last, in pages that fit into memory. */
  range(
    chat: Chat,
    range: { first: number; last: number; ascending: boolean },
  ): AsyncIterable<RatedMessage[]>;
  /** The newest messages up to a position, oldest first, at most so many characters of text. */
  recent(chat: Chat, upTo: number, characters: number): Promise<Message[]>;
}
