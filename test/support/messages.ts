import { type AssistantMessage, noUsage, type UserMessage } from '#domain/chats/message.ts';

const createdAt = '2027-01-31T12:00:00.000Z';

export const userMessage = (
  position: number,
  content = `message ${position}`,
  changes: Partial<UserMessage> = {},
): UserMessage => ({ role: 'user', position, content, attachments: [], createdAt, ...changes });

export const replyMessage = (
  position: number,
  content = `message ${position}`,
  changes: Partial<AssistantMessage> = {},
): AssistantMessage => ({
  role: 'assistant',
  position,
  content,
  createdAt,
  agentVersionId: 'version-1',
  reasoningSteps: [],
  tokenUsage: noUsage,
  error: null,
  incomplete: null,
  ...changes,
});

/** A user message at an odd position, a reply at an even one. */
export const messageAt = (position: number, content?: string) =>
  position % 2 === 1 ? userMessage(position, content) : replyMessage(position, content);
