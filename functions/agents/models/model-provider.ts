import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider';
import { addUserMessage } from '#agents/conversation.ts';

/** Of the interface, the service uses no more. */
export type Model = Pick<LanguageModelV4, 'doGenerate' | 'doStream'>;

/** Each provider has an entry in runtime/composition/models-and-tools.ts. */
export interface ModelProvider {
  needsName: boolean;
  /** @param name the text after `PROVIDER:`, possibly empty */
  model(name: string): Model;
  /** Whether the model is known to accept images. An agent's `meta.vision` overrides this. */
  seesImages(name: string): boolean;
  /** Whether the model is known to accept no tools, and so no schema of a reply: it would get that as a tool. */
  lacksTools?(name: string): boolean;
  /** Makes a chat's title without a model call; undefined if it finds none in the message. */
  title?(message: string): string | undefined;
}

/** @throws Error if the provider is unknown, or if it needs a model's name and there is none */
export function findProvider(
  providers: Record<string, ModelProvider>,
  llmModel: string,
): { provider: ModelProvider; name: string } {
  const colon = llmModel.indexOf(':');
  const [providerName, name] =
    colon === -1 ? [llmModel, ''] : [llmModel.slice(0, colon), llmModel.slice(colon + 1)];
  const provider = Object.hasOwn(providers, providerName) ? providers[providerName] : undefined;
  if (provider === undefined)
    throw new Error(
      `llm_model names the unknown provider ${providerName}; known are ${Object.keys(providers).join(', ')}`,
    );
  if (provider.needsName && name === '')
    throw new Error(`llm_model names no model: it must be ${providerName}:MODEL`);
  return { provider, name };
}

/**
 * For the tool choice `none`, which some servers ignore. Some servers also reject tool calls and results in the history
 * of a call without tools, so results become user text.
 */
export function withoutTools(options: LanguageModelV4CallOptions): LanguageModelV4CallOptions {
  const { tools: _, toolChoice, ...others } = options;
  if (toolChoice?.type !== 'none') return options;
  const prompt: LanguageModelV4Prompt = [];
  for (const message of options.prompt.map(withoutToolParts))
    if (message.role === 'user') addUserMessage(prompt, message.content);
    else if (message.content.length > 0) prompt.push(message);
  return { ...others, prompt };
}

export function withoutToolParts(message: LanguageModelV4Message): LanguageModelV4Message {
  if (message.role === 'assistant') {
    const callsTools = message.content.some(({ type }) => type === 'tool-call');
    return callsTools
      ? { ...message, content: message.content.filter(({ type }) => type === 'text') }
      : message;
  }
  if (message.role !== 'tool') return message;
  const results = message.content.filter((part) => part.type === 'tool-result');
  const text = results
    .map((part) => `The tool ${part.toolName} answered: ${resultText(part.output)}`)
    .join('\n\n');
  return { role: 'user', content: [{ type: 'text', text }] };
}

/** Of the two types that prompts of replies have: see `openToolCalls`. */
export function resultText(output: LanguageModelV4ToolResultPart['output']): string {
  if (output.type === 'json') return JSON.stringify(output.value);
  if (output.type === 'error-text') return output.value;
  throw new Error(`No prompt has a result of the type ${output.type}`);
}
