import type { AgentServices } from '#domain/agents/services.ts';
import type { FileServices } from '#domain/files/services.ts';
import type { AgentRuntime } from './agent-runtime.ts';
import type { ChatDeletion, ChatPages, ChatStore, NewChatStore } from './chat-store.ts';
import type { FeedbackStore } from './feedback-store.ts';
import type { MessageStore } from './message-store.ts';
import type { PurgeOutbox, PurgeQueue } from './purge.ts';
import type { ReplyLimits } from './reply-budget.ts';
import type { ReplyEventStore } from './reply-event-store.ts';
import type { StopWatch } from './watch-stops.ts';

export interface ChatServices extends AgentServices, FileServices {
  agentRuntime: AgentRuntime;
  chatDeletion: ChatDeletion;
  chatPages: ChatPages;
  chats: ChatStore;
  feedback: FeedbackStore;
  messages: MessageStore;
  newChats: NewChatStore;
  purgeOutbox: PurgeOutbox;
  purgeQueue: PurgeQueue;
  replyEvents: ReplyEventStore;
  replySettings: ReplySettings;
  stops: StopWatch;
}

/** Times in milliseconds. */
export interface ReplySettings {
  /** Idle timeout: the longest time without an event of a stream (specification, section 8). */
  streamTimeout: number;
  /**
   * Length of the chat lease of a send, and of the lease of a slot. A lease outlives a crashed function by at most this
   * time. A chat lease is renewed after each third of it, and a slot after each sixth.
   */
  lease: number;
  /** Characters of earlier messages that the model gets. */
  historyCharacters: number;
  /** Files that a message may attach. */
  attachedFiles: number;
  /** Limits of one reply. Model calls and tools of called agents count too. */
  limits: ReplyLimits;
}

/** What a use case needs of them. */
export type Services<Name extends keyof ChatServices> = Pick<ChatServices, Name>;
