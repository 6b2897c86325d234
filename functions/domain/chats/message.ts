import { limits } from '#contract/limits.ts';
import type { ReasoningStep, ReplyError, TokenUsage } from '#contract/message.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';

/**
 * A message's id is its chat's id times 2^21 plus its position in the chat. So ids are unique in the workspace, ascend
 * inside a chat, and give the position without a read. Chat ids have no gaps (1, 2, 3 …), so 2^53 is enough for
 * 4.29 billion chats of 2,097,151 messages in one workspace.
 */
const positionsPerChat = 2 ** 21;
export const lastPosition = limits.messagesOfChat + 1;
export const lastChatId = limits.chatsOfWorkspace;

export const messageId = (chatId: number, position: number): number => chatId * positionsPerChat + position;

/** The position of the message with this id; undefined if the id belongs to another chat. */
export function positionOf(chatId: number, id: number): number | undefined {
  const position = id - chatId * positionsPerChat;
  return position >= 1 && position <= lastPosition ? position : undefined;
}

/** A turn is a user message at an odd position and its reply at the next position. */
export const isReplyPosition = (position: number): boolean => position % 2 === 0;

/** The same for both messages of a turn, and unique in the workspace. */
export const groupId = (chatId: number, position: number): string =>
  `turn_${messageId(chatId, isReplyPosition(position) ? position - 1 : position)}`;

/** Why a reply was cut short without an error: it reached the maximum length, or a client has stopped it. */
export type Incomplete = 'max_output_tokens' | 'stopped';

export interface UserMessage {
  role: 'user';
  position: number;
  content: string;
  attachments: StoredFile[];
  createdAt: string;
  /** Of a request of a batch: the id of its chat lease. Attempts know their message by it. */
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
  /** Why the reply failed; null if it is complete. */
  error: ReplyError | null;
  incomplete: Incomplete | null;
  /** Undefined for a reply of a batch. The events of a resumable reply are stored under this id for an hour. */
  responseId?: string;
  /**
   * How many turns in a row, this one last, had content that the provider rejected. 0: it took this turn only without
   * those before. Undefined for any other turn.
   */
  rejectedTurns?: number;
}

export type Message = UserMessage | AssistantMessage;

export const noUsage: TokenUsage = {
  total_prompt_tokens: 0,
  total_completion_tokens: 0,
  total_tokens: 0,
  total_calls: 0,
};

/** The usage of a call without an end from its provider. */
export const unknownUsage: TokenUsage = { ...noUsage, total_calls: 1 };
