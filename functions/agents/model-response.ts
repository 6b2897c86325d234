import { setImmediate as nextTurn } from 'node:timers/promises';
import type {
  LanguageModelV4FinishReason,
  LanguageModelV4Message,
  LanguageModelV4ReasoningPart,
  LanguageModelV4StreamPart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCall,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import type { CallUsage } from '#domain/chats/agent-runtime.ts';
import { unknownUsage } from '#domain/chats/message.ts';
import { ModelFailure } from '#domain/platform/failures.ts';
import { wellFormedParts } from './attachments.ts';
import { type ByteBounds, withinBytes } from './conversation.ts';
import { isTurnOver } from './event-loop-turn.ts';

type Content = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'];

export interface ModelResponse {
  content: Content;
  /** `bytes`: the output was cut at its bounds; `content` is then empty. */
  finishReason: LanguageModelV4FinishReason['unified'] | 'bytes';
  usage: CallUsage;
}

/** @throws ModelFailure if the stream ends without a finish part */
export async function readModelResponse(
  stream: AsyncIterable<LanguageModelV4StreamPart>,
  bounds: ByteBounds,
  listener: {
    text: (delta: string) => void;
    progress: () => void;
    toolCall: (call: LanguageModelV4ToolCall) => object;
  },
): Promise<ModelResponse> {
  const { parts, wasCut } = withinBytes(wellFormedParts(stream), bounds);
  const blocks = new Blocks();
  let isFirstText = true;
  let finish: Extract<LanguageModelV4StreamPart, { type: 'finish' }> | undefined;
  for await (const part of parts) {
    // Very many deltas may have arrived at once. Other requests get a turn between them.
    if (isTurnOver()) await nextTurn();
    if (part.type === 'finish') finish = part;
    else if (part.type === 'tool-call') blocks.addToolCall(part, listener.toolCall(part));
    else blocks.read(part);
    if (!('delta' in part) || part.delta === '') continue;
    if (part.type !== 'text-delta') {
      listener.progress();
      continue;
    }
    listener.text(part.delta);
    // Lets the first text be sent before other chunks that have arrived with it are processed.
    if (isFirstText) await nextTurn();
    isFirstText = false;
  }
  if (wasCut()) return { content: [], finishReason: 'bytes', usage: unknownUsage };
  if (finish === undefined) throw new ModelFailure('failed', 'The model ended its reply without a finish');
  return {
    content: blocks.content(),
    finishReason: finish.finishReason.unified,
    usage: usageOf(finish.usage),
  };
}

type BlockType = 'text' | 'reasoning';
type BlockPart = { id: string } & Pick<LanguageModelV4ToolCall, 'providerMetadata'>;

class Blocks {
  private readonly all: Content = [];
  private readonly open = new Map<string, LanguageModelV4TextPart | LanguageModelV4ReasoningPart>();

  read(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case 'text-start':
        this.#start('text', part);
        break;
      case 'reasoning-start':
        this.#start('reasoning', part);
        break;
      case 'text-delta':
      case 'text-end':
        this.#append('text', part);
        break;
      case 'reasoning-delta':
      case 'reasoning-end':
        this.#append('reasoning', part);
        break;
    }
  }

  #start(type: BlockType, part: BlockPart): void {
    const block = { type, text: '', ...optionsOf(part) } as const;
    this.open.set(`${type} ${part.id}`, block);
    this.all.push(block);
  }

  /** Each part of a block may carry data of the provider, which the next model call may need. */
  #append(type: BlockType, part: BlockPart & { delta?: string }): void {
    const block = this.open.get(`${type} ${part.id}`);
    if (block === undefined) return;
    Object.assign(block, optionsOf(part));
    if (part.delta !== undefined) block.text += part.delta;
  }

  addToolCall(call: LanguageModelV4ToolCall, input: object): void {
    const { toolCallId, toolName } = call;
    this.all.push({ type: 'tool-call', toolCallId, toolName, input, ...optionsOf(call) });
  }

  content(): Content {
    return this.all.filter((block) => !('text' in block) || block.text !== '' || block.providerOptions);
  }
}

const optionsOf = ({ providerMetadata }: Pick<LanguageModelV4ToolCall, 'providerMetadata'>) =>
  providerMetadata === undefined ? {} : { providerOptions: providerMetadata };

export function usageOf({ inputTokens, outputTokens }: LanguageModelV4Usage): CallUsage {
  const prompt = inputTokens.total ?? 0;
  const completion = outputTokens.total ?? 0;
  return {
    total_prompt_tokens: prompt,
    total_completion_tokens: completion,
    total_tokens: prompt + completion,
    total_calls: 1,
    // A server that counts the cached part apart from the prompt may report a larger number for it.
    cached_prompt_tokens: Math.min(inputTokens.cacheRead ?? 0, prompt),
    written_prompt_tokens: inputTokens.cacheWrite ?? 0,
  };
}
