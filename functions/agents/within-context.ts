import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { PromptMessage } from '#domain/chats/agent-runtime.ts';
import { ModelFailure } from '#domain/platform/model-failure.ts';

/** The earlier messages in the prompt: first all of them, then the newer half, then none. */
export class PreviousMessages {
  messages: readonly PromptMessage[];
  private isHalved = false;

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
}

/**
 * Calls a model. If the request exceeds the model's context window, retries with fewer earlier messages, so that a long
 * history never blocks a chat.
 * @param open calls the model with the current `previous.messages`
 * @param mayRetry called before each retry
 * @throws ModelFailure of the last call
 */
export async function streamWithinContext(
  previous: PreviousMessages,
  open: () => Promise<AsyncIterable<LanguageModelV4StreamPart>>,
  mayRetry: () => boolean,
): Promise<AsyncIterable<LanguageModelV4StreamPart>> {
  for (;;)
    try {
      return await open();
    } catch (error) {
      const isTooLong = error instanceof ModelFailure && error.kind === 'tooLong';
      if (!isTooLong || !previous.shorten() || !mayRetry()) throw error;
    }
}
