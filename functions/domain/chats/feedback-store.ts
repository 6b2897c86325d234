import type { FeedbackType } from '#contract/feedback.ts';
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
}
