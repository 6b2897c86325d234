import { limits } from '#contract/limits.ts';
import type { ReasoningStep, ReplyError, TokenUsage } from '#contract/message.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';
import type { IdempotencyKey } from '#domain/platform/idempotency.ts';
import type { Chat } from './chat.ts';

/**
 * The id of a message is its chat's id times 2^21 plus its position in the chat. So ids are unique in the workspace and
 * ascend inside a chat, and the position is known without a read.
 */
const positionsPerChat = 2 ** 21;
export const lastPosition = limits.messagesOfChat + 1;
export const lastChatId = limits.chatsOfWorkspace;

export const messageId = (chatId: number, position: number): number => chatId * positionsPerChat + position;

/** The position of the message with this id; undefined if no message of the chat can have it. */
export function positionOf(chatId: number, id: number): number | undefined {
  const position = id - chatId * positionsPerChat;
  return position >= 1 && position <= lastPosition ? position : undefined;
}

/** A turn is a user message at an odd position and its reply at the next position. */
export const isReplyPosition = (position: number): boolean => position % 2 === 0;

/** The group id of a turn: both messages have the same, and it is unique in the workspace. */
export const groupId = (chatId: number, position: number): string =>
  `turn_${messageId(chatId, isReplyPosition(position) ? position - 1 : position)}`;

/** Why a reply was cut short without an error: it reached the maximum length, or was stopped. */
export type Incomplete = 'max_output_tokens' | 'stopped';

export interface UserMessage {
  role: 'user';
  position: number;
  content: string;
  attachments: StoredFile[];
  createdAt: string;
  /**
   * Id of the chat lease of the batch request that has sent the message; undefined for a send. All attempts of the
   * request recognize their message by it.
   */
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
  /** Why the reply failed; null if it did not fail. */
  error: ReplyError | null;
  incomplete: Incomplete | null;
  /**
   * Undefined for a reply of a batch, and of an earlier release. The events of a resumable reply are stored under this
   * id.
   */
  responseId?: string;
  /**
   * Number of consecutive turns, up to this one, whose content the provider rejected. 0: the provider accepted this
   * turn only without the rejected turns before it. Undefined for any other turn.
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

/** The usage that is counted for a call whose provider has not reported its end: one call, without tokens. */
export const unknownUsage: TokenUsage = { ...noUsage, total_calls: 1 };

export interface RatedMessage {
  message: Message;
  /** Number of users by feedback type. */
  feedbackCounts: Record<string, number>;
}

export interface MessageStore {
  /**
   * Stores a message at its position.
   * @returns false if the position has another message; true also if an attempt whose response was lost has stored this
   *   message
   * @throws NotStorable if no retry can store it
   */
  put(chat: Chat, message: Message): Promise<boolean>;
  /**
   * Stores a user message and the idempotency record of its request, in one transaction. If it does not return
   * `stored`, it has stored nothing.
   */
  putWithKey(
    chat: Chat,
    message: UserMessage,
    key: IdempotencyKey,
  ): Promise<'stored' | 'position-taken' | 'key-in-use'>;
  /**
   * Stores the reply of a turn, releases the chat lease as `ChatStore.releaseLease` does, and sets the number of
   * messages to the reply's position, in one transaction. If it does not return `stored`, it has changed nothing.
   */
  putAndRelease(
    chat: Chat,
    leaseId: string,
    message: Message,
  ): Promise<'stored' | 'lease-lost' | 'position-taken'>;
  /**
   * The messages at the positions first to last, in pages that fit into memory. Positions without a message are left
   * out. Without `ascending`, the last position comes first.
   */
  range(
    chat: Pick<Chat, 'workspaceId' | 'id'>,
    range: { first: number; last: number; ascending: boolean },
  ): AsyncIterable<RatedMessage[]>;
  /** The text of a stored message; undefined if it was deleted with its chat. */
  contentAt(workspaceId: string, chatId: number, position: number): Promise<string | undefined>;
  /**
   * The newest messages up to a position, oldest first: at most `characters` of text, from at most 1,000 stored
   * messages. Beyond a million characters of reasoning steps, messages have no steps. Turns that prompts must not
   * contain are left out, and their characters do not count.
   * @param upTo the position, or a promise of it: the read may begin before. For 0 the result is empty
   */
  recent(
    chat: Pick<Chat, 'workspaceId' | 'id'>,
    upTo: number | Promise<number>,
    characters: number,
  ): Promise<Message[]>;
}

type ChatName = Pick<Chat, 'workspaceId' | 'id'>;

/** Texts of messages that are too large for their items of the table. */
export interface ContentStore {
  /** @returns the name of the stored text, for `get` */
  put(chat: ChatName, content: string): Promise<string>;
  get(name: string): Promise<string>;
  /**
   * The text if it has at most this many characters; otherwise undefined. A text that its size shows to be longer is
   * not read.
   */
  getUpTo(name: string, characters: number): Promise<string | undefined>;
  delete(name: string): Promise<void>;
  /** Deletes the texts of a chat. Text names of an earlier release do not contain the chat, so those texts stay. */
  deleteOf(chat: ChatName): Promise<void>;
}
