import { type AssistantMessage, type Message, noUsage, type UserMessage } from '#domain/chats/message.ts';

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

/**
 * A turn for each letter: `+` for a usual one, `-` for one whose content a provider has rejected, and `=` for one that it
 * took only without the rejected ones before.
 */
export function turnsOf(kinds: string, content?: (position: number) => string): Message[] {
  let rejected = 0;
  return [...kinds].flatMap((kind, index) => {
    const position = 2 * index + 1;
    rejected = kind === '-' ? rejected + 1 : 0;
    return [
      userMessage(position, content?.(position)),
      replyMessage(position + 1, content?.(position + 1), kind === '+' ? {} : { rejectedTurns: rejected }),
    ];
  });
}
