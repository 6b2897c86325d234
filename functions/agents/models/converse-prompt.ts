import type { LanguageModelV4CallOptions, LanguageModelV4Message } from '@ai-sdk/provider';
import { withoutToolParts } from './prompt-without-tools.ts';

/**
 * Adapts a prompt to what the Converse API accepts.
 * - Converse rejects blank texts, so they are removed. It also rejects two messages of one role in a row; the AI SDK's
 *   provider joins those.
 * - Converse rejects tool calls and results in the history of a call without tools, and it has no tool choice `none`.
 *   The provider would drop them, and the last call of a reply would not see the results. So results become user text.
 */
export function conversePrompt({
  prompt,
  tools = [],
  toolChoice,
}: LanguageModelV4CallOptions): LanguageModelV4Message[] {
  const isWithoutTools = tools.length === 0 || toolChoice?.type === 'none';
  return prompt
    .map(isWithoutTools ? withoutToolParts : (message) => message)
    .map(withoutBlanks)
    .filter(hasContent);
}

/** A user message that is entirely blank stays, so that Converse itself rejects the call. */
function withoutBlanks(message: LanguageModelV4Message): LanguageModelV4Message {
  if (message.role === 'user') {
    const content = message.content.filter((part) => part.type !== 'text' || !isBlank(part.text));
    return content.length > 0 ? { ...message, content } : message;
  }
  return message.role === 'assistant'
    ? { ...message, content: message.content.filter((part) => part.type !== 'text' || !isBlank(part.text)) }
    : message;
}

const hasContent = ({ role, content }: LanguageModelV4Message): boolean =>
  role === 'system' ? !isBlank(content) : content.length > 0;

const isBlank = (text: string): boolean => text.trim() === '';
