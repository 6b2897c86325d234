import type {
  LanguageModelV4FinishReason,
  LanguageModelV4Message,
  LanguageModelV4ReasoningPart,
  LanguageModelV4StreamPart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCall,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import type { TokenUsage } from '#contract/message.ts';
import { unknownUsage } from '#domain/chats/message.ts';
import { ModelFailure } from '#domain/platform/model-failure.ts';
import { wellFormedParts } from './well-formed-parts.ts';
import { type ByteBounds, withinBytes } from './within-bytes.ts';

type Content = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'];

/** The output of one model call. */
export interface ModelResponse {
  /** The assistant message for the prompt of the next call. */
  content: Content;
  /** `bytes`: the output reached its bounds and was cut there. */
  finishReason: LanguageModelV4FinishReason['unified'] | 'bytes';
  usage: TokenUsage;
}

/**
 * Reads the stream of one model call to its end, or up to its bounds.
 * @throws ModelFailure if the stream ends without a finish part
 */
export async function readModelResponse(
  stream: AsyncIterable<LanguageModelV4StreamPart>,
  bounds: ByteBounds,
  listener: { text: (delta: string) => void; toolCall: (call: LanguageModelV4ToolCall) => object },
): Promise<ModelResponse> {
  const { parts, wasCut } = withinBytes(wellFormedParts(stream), bounds);
  const content: Content = [];
  const open = new Map<string, LanguageModelV4TextPart | LanguageModelV4ReasoningPart>();
  let finish: Extract<LanguageModelV4StreamPart, { type: 'finish' }> | undefined;
  for await (const part of parts)
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start': {
        const type = part.type === 'text-start' ? 'text' : 'reasoning';
        const block = { type, text: '', ...optionsOf(part) } as const;
        open.set(`${type} ${part.id}`, block);
        content.push(block);
        break;
      }
      case 'text-delta':
      case 'reasoning-delta':
      case 'text-end':
      case 'reasoning-end': {
        const [type, at] = part.type.split('-');
        const block = open.get(`${type} ${part.id}`);
        // The end of a reasoning block may carry the provider's signature. The provider requires it in the next call.
        if (block !== undefined) Object.assign(block, optionsOf(part));
        if (at !== 'delta' || !('delta' in part) || part.delta === '') break;
        if (block !== undefined) block.text += part.delta;
        if (type === 'text') listener.text(part.delta);
        break;
      }
      case 'tool-call': {
        const { toolCallId, toolName } = part;
        const input = listener.toolCall(part);
        content.push({ type: 'tool-call', toolCallId, toolName, input, ...optionsOf(part) });
        break;
      }
      case 'finish':
        finish = part;
    }
  if (wasCut()) return { content: [], finishReason: 'bytes', usage: unknownUsage };
  if (finish === undefined) throw new ModelFailure('failed', 'The model ended its reply without a finish');
  return {
    content: content.filter((block) => !('text' in block) || block.text !== '' || block.providerOptions),
    finishReason: finish.finishReason.unified,
    usage: usageOf(finish.usage),
  };
}

const optionsOf = ({ providerMetadata }: Pick<LanguageModelV4ToolCall, 'providerMetadata'>) =>
  providerMetadata === undefined ? {} : { providerOptions: providerMetadata };

function usageOf({ inputTokens, outputTokens }: LanguageModelV4Usage): TokenUsage {
  const prompt = inputTokens.total ?? 0;
  const completion = outputTokens.total ?? 0;
  return {
    total_prompt_tokens: prompt,
    total_completion_tokens: completion,
    total_tokens: prompt + completion,
    total_calls: 1,
  };
}
