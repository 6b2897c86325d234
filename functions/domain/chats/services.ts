import type { AgentRuntime } from './agent-runtime.ts';
import type { ChatStore } from './chat-store.ts';
import type { FeedbackStore } from './feedback-store.ts';
import type { MessageStore } from './message-store.ts';
import type { ReplyLimits } from './reply-budget.ts';

export interface ChatServices {
  agentRuntime: AgentRuntime;
  chats: ChatStore;
  feedback: FeedbackStore;
  messages: MessageStore;
  replySettings: ReplySettings;
}

/** Times in milliseconds. */
export interface ReplySettings {
  /** The longest that a stream may go without an event (specification, section 8). */
  streamTimeout: number;
  /** How long a reply's lock outlives a crashed function; renewed at a third of it. */
  lease: number;
  /** Characters of earlier messages that a model is given. */
  historyCharacters: number;
  /** Files that a message may attach. */
  attachedFiles: number;
  /** Of one reply, with the agents that it calls. */
  limits: ReplyLimits;
}
