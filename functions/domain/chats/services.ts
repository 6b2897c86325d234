import type { FeedbackType } from '#contract/message.ts';
import type { AgentServices } from '#domain/agents/agents.ts';
import type { FileServices } from '#domain/files/files.ts';
import type { Person } from '#domain/workspaces/workspace.ts';
import type { AgentRuntime, ReplyLimits } from './agent-runtime.ts';
import type { Chat, ChatDeletion, ChatKey, ChatPages, ChatStore, NewChatStore } from './chat.ts';
import type { MessageStore } from './message.ts';
import type { PurgeOutbox, PurgeQueue } from './purge.ts';
import type { StopWatch } from './watch-stops.ts';

export interface Feedback {
  externalUserId: string;
  type: FeedbackType;
  content: string | null;
  createdAt: string;
}

export interface FeedbackStore {
  /** Replaces earlier feedback of the user on the message. Returns false if the chat does not exist. */
  record(chat: Chat, position: number, feedback: Feedback): Promise<boolean>;
  /** Only in chats without an external user: feedback in the user's own chats is deleted with them. */
  ofUser(person: Person): AsyncIterable<FeedbackOfUser[]>;
  /** It may be repeated. */
  remove(chat: ChatKey, position: number, externalUserId: string): Promise<void>;
}

export interface FeedbackOfUser {
  chatId: number;
  position: number;
  createdAt: string;
}

export interface ReplyName {
  workspaceId: string;
  chatId: number;
  responseId: string;
}

/** Each text is an event as its client gets it, but a `final_text` that the deltas have too is empty. */
export interface StoredEvents {
  /** Sequence number of the first text; without texts, the next number. */
  first: number;
  texts: string[];
  isLast: boolean;
}

/** The events of resumable replies. They expire an hour after they were stored. */
export interface ReplyEventStore {
  /**
   * The first call must have only the first event. The events of any other call must follow those of the previous one.
   * A call may be repeated with the same events.
   */
  append(reply: ReplyName, events: StoredEvents, now: Date): Promise<void>;
  /** Whether the first event of the reply is stored and has not expired. */
  hasReply(reply: ReplyName, now: Date): Promise<boolean>;
  /** Yields what is stored, and does not wait for more. The first element may also contain earlier events. */
  eventsFrom(reply: ReplyName, sequenceNumber: number): AsyncIterable<StoredEvents>;
}

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
interface ReplySettings {
  /** Idle timeout of a reply (specification, section 8). */
  streamTimeout: number;
  /** Length of the chat lease of a send, and of the lease of a slot. */
  lease: number;
  historyCharacters: number;
  attachedFiles: number;
  limits: ReplyLimits;
}

export type Services<Name extends keyof ChatServices> = Pick<ChatServices, Name>;
