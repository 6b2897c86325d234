import type { LanguageModelV4CallOptions, LanguageModelV4Message } from '@ai-sdk/provider';
import { withoutToolParts } from './prompt-without-tools.ts';

/**
 * A prompt that Converse takes. It refuses blank texts, and two messages of a role in a row: what is blank goes, and
 * the provider joins the neighbours. It also refuses tool calls and results in the history of a call without tools, and
 * it has no tool choice of none; the provider would then leave all of them out, so that a reply's last call would not
 * know what its tools had found. They go as text of the user.
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
    .filter(saysSomething);
}

/** A user's message that is blank as a whole stays: Converse's refusal is then the answer to it. */
function withoutBlanks(message: LanguageModelV4Message): LanguageModelV4Message {
  if (message.role === 'user') {
    const content = message.content.filter((part) => part.type !== 'text' || !isBlank(part.text));
    return content.length > 0 ? { ...message, content } : message;
  }
  return message.role === 'assistant'
    ? { ...message, content: message.content.filter((part) => part.type !== 'text' || !isBlank(part.text)) }
    : message;
}

const saysSomething = ({ role, content }: LanguageModelV4Message): boolean =>
  role === 'system' ? !isBlank(content) : content.length > 0;

const isBlank = (text: string): boolean => text.trim() === '';
