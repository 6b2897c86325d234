import type { FeedbackType } from '#contract/feedback.ts';
import type { Person } from '#domain/workspaces/person.ts';
import type { Chat } from './chat.ts';

export interface Feedback {
  externalUserId: string;
  type: FeedbackType;
  content: string | null;
  createdAt: string;
}

export interface FeedbackStore {
  /**
   * Replaces a user's feedback on the message at the position, and counts users by feedback type.
   * @returns false if the chat does not exist
   */
  record(chat: Chat, position: number, feedback: Feedback): Promise<boolean>;
  /** The user's feedback in chats of nobody, in pages. Feedback in the user's own chats is deleted with them. */
  ofUser(person: Person): AsyncIterable<FeedbackOfUser[]>;
  /** Removes a user's feedback, and counts the others. It may be repeated. */
  remove(chat: Pick<Chat, 'workspaceId' | 'id'>, position: number, externalUserId: string): Promise<void>;
}

export interface FeedbackOfUser {
  chatId: number;
  position: number;
  createdAt: string;
}
