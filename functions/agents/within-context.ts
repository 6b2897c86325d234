import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { PromptMessage } from '#domain/chats/agent-runtime.ts';
import { ModelFailure, type ModelFailureKind } from '#domain/platform/model-failure.ts';

/** The earlier messages in the prompt: first all of them, then the newer half, then none. */
export class PreviousMessages {
  messages: readonly PromptMessage[];
  private isHalved = false;
  /** The provider takes the prompt only without the turns before it that it has rejected. */
  isWithoutRejected = false;

  constructor(messages: readonly PromptMessage[]) {
    this.messages = messages;
  }

  /** Removes the older half, the second time all messages. Returns false if there was no message to remove. */
  shorten(): boolean {
    if (this.messages.length === 0) return false;
    const half = this.isHalved ? [] : this.messages.slice(Math.ceil(this.messages.length / 2));
    this.isHalved = true;
    // A turn starts with its user message.
    this.messages = half[0]?.role === 'assistant' ? half.slice(1) : half;
    return true;
  }

  /** Removes the newest turns if they were rejected. Returns false if they were not. */
  removeRejected(): boolean {
    const last = this.messages.at(-1);
    const turns = (last?.role === 'assistant' && last.rejectedTurns) || 0;
    if (turns === 0) return false;
    this.messages = this.messages.slice(0, -2 * turns);
    this.isWithoutRejected = true;
    return true;
  }
}

/**
 * Calls a model. If it rejects the content of the request, retries without the turns before that it has rejected. If the
 * request exceeds its context window, retries with fewer earlier messages. So no history blocks a chat.
 * @param open calls the model with the current `previous.messages`
 * @param mayRetry called before each retry
 * @throws ModelFailure of the last call
 */
export async function streamWithinContext(
  previous: PreviousMessages,
  open: () => Promise<AsyncIterable<LanguageModelV4StreamPart>>,
  mayRetry: (failure: ModelFailureKind) => boolean,
): Promise<AsyncIterable<LanguageModelV4StreamPart>> {
  for (;;)
    try {
      return await open();
    } catch (error) {
      if (!(error instanceof ModelFailure && error.isOfContent)) throw error;
      const isShorter = previous.removeRejected() || (error.kind === 'tooLong' && previous.shorten());
      if (!isShorter || !mayRetry(error.kind)) throw error;
    }
}
