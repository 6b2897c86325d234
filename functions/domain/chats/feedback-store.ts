import type { FeedbackType } from '#contract/feedback.ts';
import type { Chat } from './chat.ts';

export interface Feedback {
  externalUserId: string;
  type: FeedbackType;
  content: string | null;
  createdAt: string;
}

export interface FeedbackStore {
  /** Stores a user's feedback on the message at a position in place of an earlier one, and counts users by type. */
  record(chat: Chat, position: number, feedback: Feedback): Promise<void>;
}
