import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
} from '@ai-sdk/provider';
import { joinTexts } from '../../conversation.ts';
import { resultText } from '../prompt-without-tools.ts';
import { serverOptionsOf } from './server-options.ts';

type Message<Role> = Extract<LanguageModelV4Message, { role: Role }>;
type Content<Role> = Message<Role>['content'][number];

/**
 * OpenAI's reasoning models reject `max_tokens` and need `max_completion_tokens`. Other servers know only `max_tokens`.
 */
const reasoningModels = /^(gpt-5|o\d)/;

/** The body of a request for a chat completion, without `stream`. Undefined fields are not sent. */
export function completionRequest(model: string, options: LanguageModelV4CallOptions): object {
  const { prompt, maxOutputTokens, toolChoice, tools = [] } = options;
  return {
    model,
    [reasoningModels.test(model) ? 'max_completion_tokens' : 'max_tokens']: maxOutputTokens,
    temperature: options.temperature,
    top_p: options.topP,
    frequency_penalty: options.frequencyPenalty,
    presence_penalty: options.presencePenalty,
    stop: options.stopSequences,
    seed: options.seed,
    messages: prompt.flatMap(messagesOf),
    ...(tools.length > 0 && {
      tools: tools.filter((tool) => tool.type === 'function').map(toolOf),
      tool_choice: toolChoice?.type,
    }),
  };
}

const toolOf = ({ name, description, inputSchema: parameters }: LanguageModelV4FunctionTool) => ({
  type: 'function',
  function: { name, description, parameters },
});

function messagesOf(message: LanguageModelV4Message): object[] {
  switch (message.role) {
    case 'system':
      return [{ role: 'system', content: message.content }];
    case 'user':
      return [{ role: 'user', content: userContent(message.content) }];
    case 'assistant':
      return [assistantMessage(message)];
    case 'tool':
      return message.content
        .filter((part) => part.type === 'tool-result')
        .map(({ toolCallId, output }) => ({
          role: 'tool',
          tool_call_id: toolCallId,
          content: resultText(output),
        }));
  }
}

/** Strict servers accept only a string, so there are parts only with an image. */
function userContent(content: Message<'user'>['content']): string | object[] {
  const parts = joinTexts(content);
  const [first] = parts;
  return parts.length === 1 && first?.type === 'text' ? first.text : parts.map(userPart);
}

function userPart(part: Content<'user'>): object {
  if (part.type === 'text') return { type: 'text', text: part.text };
  if (part.data.type !== 'data' || typeof part.data.data !== 'string')
    throw new Error('An image of a prompt is not encoded');
  return { type: 'image_url', image_url: { url: `data:${part.mediaType};base64,${part.data.data}` } };
}

function assistantMessage({ content }: Message<'assistant'>): object {
  let text = '';
  const reasoning: Record<string, string> = {};
  const toolCalls: object[] = [];
  for (const part of content)
    if (part.type === 'text') text += part.text;
    else if (part.type === 'reasoning') {
      const { reasoningField: field } = serverOptionsOf(part);
      if (field !== undefined) reasoning[field] = (reasoning[field] ?? '') + part.text;
    } else if (part.type === 'tool-call')
      toolCalls.push({
        id: part.toolCallId,
        type: 'function',
        function: { name: part.toolName, arguments: JSON.stringify(part.input) },
        extra_content: serverOptionsOf(part).extraContent,
      });
  return toolCalls.length === 0
    ? { role: 'assistant', content: text, ...reasoning }
    : { role: 'assistant', content: text === '' ? null : text, ...reasoning, tool_calls: toolCalls };
}
