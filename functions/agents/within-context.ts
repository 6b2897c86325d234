import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { Message } from '#domain/chats/message.ts';
import { ModelFailure } from '#domain/platform/model-failure.ts';

/** The earlier messages that a model is given: all of them, the later half of their turns, or none. */
export class PreviousMessages {
  messages: readonly Message[];
  private isHalved = false;

  constructor(messages: readonly Message[]) {
    this.messages = messages;
  }

  /** False when there is nothing to leave out. */
  shorten(): boolean {
    if (this.messages.length === 0) return false;
    const half = this.isHalved ? [] : this.messages.slice(Math.ceil(this.messages.length / 2));
    this.isHalved = true;
    // A turn begins with its user message.
    this.messages = half[0]?.role === 'assistant' ? half.slice(1) : half;
    return true;
  }
}

/**
 * Asks a model, and asks again with fewer of the earlier messages when it says that the request is longer than its
 * context window: no chat is stuck because its history has grown.
 * @param open asks with the messages as they are then
 * @param mayAskAgain asked before each further call
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
