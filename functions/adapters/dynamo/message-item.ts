import type { ReasoningStep, ReplyError, TokenUsage } from '#contract/message.ts';
import { isReplyPosition, type Message } from '#domain/message.ts';
import type { Item } from './table.ts';

/** Times as milliseconds and usage as four numbers: a short message with its attributes is one write unit (1 KB). */
export const attributesOf = (message: Message): Item => ({
  position: message.position,
  at: Date.parse(message.createdAt),
  ...(message.role === 'assistant' && {
    usage: [
      message.tokenUsage.total_prompt_tokens,
      message.tokenUsage.total_completion_tokens,
      message.tokenUsage.total_tokens,
      message.tokenUsage.total_calls,
    ],
    ...(message.agentVersionId !== null && { version: message.agentVersionId }),
    ...(message.reasoningSteps.length > 0 && { steps: message.reasoningSteps }),
    ...(message.error !== null && { error: message.error }),
  }),
});

/** A stored message without its content, which may be kept elsewhere. */
export function messageOf(item: Item, content: string): Message {
  const position = item.position as number;
  const createdAt = new Date(item.at as number).toISOString();
  if (!isReplyPosition(position)) return { role: 'user', position, content, createdAt };
  return {
    role: 'assistant',
    position,
    content,
    createdAt,
    agentVersionId: (item.version as string | undefined) ?? null,
    reasoningSteps: (item.steps as ReasoningStep[] | undefined) ?? [],
    tokenUsage: usageOf(item.usage as [number, number, number, number]),
    error: (item.error as ReplyError | undefined) ?? null,
  };
}

const usageOf = ([prompt, completion, total, calls]: [number, number, number, number]): TokenUsage => ({
  total_prompt_tokens: prompt,
  total_completion_tokens: completion,
  total_tokens: total,
  total_calls: calls,
});
