import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider';

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
  const withoutTools = tools.length === 0 || toolChoice?.type === 'none';
  return prompt
    .map(withoutTools ? withoutToolParts : (message) => message)
    .map(withoutBlanks)
    .filter(saysSomething);
}

function withoutToolParts(message: LanguageModelV4Message): LanguageModelV4Message {
  if (message.role === 'assistant') {
    const callsTools = message.content.some(({ type }) => type === 'tool-call');
    // What a model thought on its way to a call stands for nothing once the call is gone.
    return callsTools
      ? { ...message, content: message.content.filter(({ type }) => type === 'text') }
      : message;
  }
  if (message.role !== 'tool') return message;
  const results = message.content.filter((part) => part.type === 'tool-result');
  return {
    role: 'user',
    content: results.map((part) => ({
      type: 'text',
      text: `The tool ${part.toolName} answered: ${textOf(part.output)}`,
    })),
  };
}

function textOf(output: LanguageModelV4ToolResultPart['output']): string {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value;
    case 'json':
    case 'error-json':
      return JSON.stringify(output.value);
    case 'execution-denied':
      return output.reason ?? 'It was not allowed to run.';
    case 'content':
      return output.value.map((part) => (part.type === 'text' ? part.text : `(${part.type})`)).join('\n');
  }
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
