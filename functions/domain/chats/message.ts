import { limits } from '#contract/limits.ts';
import type { ReasoningStep, ReplyError, TokenUsage } from '#contract/message.ts';
import type { StoredFile } from '#domain/files/files.ts';
import type { IdempotencyKey } from '#domain/platform/idempotency.ts';
import type { Chat, ChatKey } from './chat.ts';

/** The id of a message is its chat's id times 2^21 plus its position, so the position is known without a read. */
const positionsPerChat = 2 ** 21;
export const lastPosition = limits.messagesOfChat + 1;
export const lastChatId = limits.chatsOfWorkspace;

export const messageId = (chatId: number, position: number): number => chatId * positionsPerChat + position;

/** Undefined if the chat has no position with this id. */
export function positionOf(chatId: number, id: number): number | undefined {
  const position = id - chatId * positionsPerChat;
  return position >= 1 && position <= lastPosition ? position : undefined;
}

/** A turn is a user message at an odd position and its reply at the next position. */
export const isReplyPosition = (position: number): boolean => position % 2 === 0;

export const groupId = (chatId: number, position: number): string =>
  `turn_${messageId(chatId, isReplyPosition(position) ? position - 1 : position)}`;

export type Incomplete = 'max_output_tokens' | 'stopped';

export interface UserMessage {
  role: 'user';
  position: number;
  content: string;
  attachments: StoredFile[];
  createdAt: string;
  /** Id of the chat lease of a batch request, by which its attempts recognize their message; undefined for a send. */
  turnId?: string;
}

export interface AssistantMessage {
  role: 'assistant';
  position: number;
  content: string;
  createdAt: string;
  agentVersionId: string | null;
  reasoningSteps: ReasoningStep[];
  tokenUsage: TokenUsage;
  error: ReplyError | null;
  incomplete: Incomplete | null;
  /** Undefined for a reply of a batch, and of an earlier release. */
  responseId?: string;
  /**
   * Number of consecutive turns, up to this one, that the provider rejected, probably for their content. 0: the
   * provider accepted this turn only without the rejected turns before it. Undefined for any other turn.
   */
  rejectedTurns?: number;
}

export type Message = UserMessage | AssistantMessage;

/** The table stores the usage of a message as numbers, in the order of these fields. */
export const noUsage: TokenUsage = {
  total_prompt_tokens: 0,
  total_completion_tokens: 0,
  total_tokens: 0,
  total_calls: 0,
  cached_prompt_tokens: 0,
};

/** For a call whose provider has not reported its end. */
export const unknownUsage: TokenUsage = { ...noUsage, total_calls: 1 };

export interface RatedMessage {
  message: Message;
  feedbackCounts: Record<string, number>;
}

export interface MessageStore {
  /**
   * Returns false if the position has another message.
   * @throws NotStorable if no retry can store it
   */
  put(chat: Chat, message: Message): Promise<boolean>;
  /** Also stores the idempotency record of the request, in one transaction. */
  putWithKey(
    chat: Chat,
    message: UserMessage,
    key: IdempotencyKey,
  ): Promise<'stored' | 'position-taken' | 'key-in-use'>;
  /** Stores a reply, and releases the chat lease as `ChatStore.releaseLease` does, in one transaction. */
  putAndRelease(
    chat: Chat,
    leaseId: string,
    message: Message,
  ): Promise<'stored' | 'lease-lost' | 'position-taken'>;
  /** The positions from `first` up to `last`, both included. Positions without a message are left out. */
  range(
    chat: ChatKey,
    range: { first: number; last: number; ascending: boolean },
  ): AsyncIterable<RatedMessage[]>;
  /** Undefined if the message was deleted with its chat. */
  contentAt(workspaceId: string, chatId: number, position: number): Promise<string | undefined>;
  /**
   * The newest messages that prompts may contain, oldest first: at most `characters` in all `content`s together, from
   * at most 1,000 stored messages.
   * @param upTo a position, or a promise of it: the read may begin before. For 0 the result is empty
   */
  recent(chat: ChatKey, upTo: number | Promise<number>, characters: number): Promise<Message[]>;
}

/** Texts of messages that are too large for their items of the table. */
export interface ContentStore {
  put(chat: ChatKey, content: string): Promise<string>;
  get(name: string): Promise<string>;
  /** Undefined if the text has more characters. A text that its size shows to be longer is not read. */
  getUpTo(name: string, characters: number): Promise<string | undefined>;
  delete(name: string): Promise<void>;
  /** Deletes the texts of a chat. Text names of an earlier release do not contain the chat, so those texts stay. */
  deleteOf(chat: ChatKey): Promise<void>;
}
