import { fileItem, fileOf } from '#adapters/dynamo/files/file-index.ts';
import type { Item } from '#adapters/dynamo/table/table.ts';
import type { ReasoningStep, ReplyError, TokenUsage } from '#contract/message.ts';
import {
  type AssistantMessage,
  type Incomplete,
  isReplyPosition,
  type Message,
} from '#domain/chats/message.ts';

/**
 * All attributes but the texts. Times are milliseconds and the usage is four numbers, so a short message is one write
 * unit (1 KB).
 */
export const attributesOf = (message: Message): Item => ({
  position: message.position,
  at: Date.parse(message.createdAt),
  ...(message.role === 'user' && {
    ...(message.attachments.length > 0 && { files: message.attachments.map(fileItem) }),
    ...(message.turnId !== undefined && { turn: message.turnId }),
  }),
  ...(message.role === 'assistant' && {
    usage: [
      message.tokenUsage.total_prompt_tokens,
      message.tokenUsage.total_completion_tokens,
      message.tokenUsage.total_tokens,
      message.tokenUsage.total_calls,
    ],
    ...(message.agentVersionId !== null && { version: message.agentVersionId }),
    ...(message.error !== null && { error: message.error }),
    ...(message.incomplete !== null && { incomplete: message.incomplete }),
    ...(message.responseId !== undefined && { response_id: message.responseId }),
    ...(message.rejectedTurns !== undefined && { rejected_turns: message.rejectedTurns }),
  }),
});

/** What says whether prompts contain a message, without its texts. */
export const positionsOf = (item: Item): Pick<AssistantMessage, 'position' | 'rejectedTurns'> => ({
  position: item.position as number,
  ...(item.rejected_turns !== undefined && { rejectedTurns: item.rejected_turns as number }),
});

/** Texts of a message that may be too large for its item. */
export const textsOf = (message: Message): { content: string; steps?: string } => ({
  content: message.content,
  ...(message.role === 'assistant' &&
    message.reasoningSteps.length > 0 && { steps: JSON.stringify(message.reasoningSteps) }),
});

/** A stored message, from its item and its texts. */
export function messageOf(
  item: Item,
  workspaceId: string,
  { content, steps }: { content: string; steps: string | undefined },
): Message {
  const position = item.position as number;
  const createdAt = new Date(item.at as number).toISOString();
  if (!isReplyPosition(position)) {
    const attachments = ((item.files as Item[] | undefined) ?? []).map((file) => fileOf(file, workspaceId));
    const turnId = item.turn as string | undefined;
    return {
      role: 'user',
      position,
      content,
      attachments,
      createdAt,
      ...(turnId !== undefined && { turnId }),
    };
  }
  return {
    role: 'assistant',
    ...positionsOf(item),
    content,
    createdAt,
    agentVersionId: (item.version as string | undefined) ?? null,
    reasoningSteps: steps === undefined ? [] : (JSON.parse(steps) as ReasoningStep[]),
    tokenUsage: usageOf(item.usage as [number, number, number, number]),
    error: (item.error as ReplyError | undefined) ?? null,
    incomplete: (item.incomplete as Incomplete | undefined) ?? null,
    ...(item.response_id !== undefined && { responseId: item.response_id as string }),
  };
}

const usageOf = ([prompt, completion, total, calls]: [number, number, number, number]): TokenUsage => ({
  total_prompt_tokens: prompt,
  total_completion_tokens: completion,
  total_tokens: total,
  total_calls: calls,
});
