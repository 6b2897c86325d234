import type { Writable } from 'node:stream';
import { endOfStream, jsonLine } from '#contract/event-text.ts';
import type { StreamEventBody } from '#contract/events.ts';
import { limits } from '#contract/limits.ts';
import type { TokenUsage } from '#contract/message.ts';
import type { ChatCompletionChunk, FinishReason } from '#contract/openai/chat-completion.ts';
import { OpenAiError } from '#contract/openai/error.ts';
import type { completionChunks } from '#domain/completions/completion-resource.ts';
import type { Cancel, Clock } from '#domain/platform/clock.ts';
import { errorObjectOf } from './openai-form.ts';

/**
 * Milliseconds of silence before an empty chunk, and also how long the status waits for the model's first part. Proxies
 * may close connections after 30 s of silence.
 */
const silenceMilliseconds = 15_000;

export interface CompletionStream {
  emit(event: StreamEventBody): void;
  /** @throws the error, if the status is not sent yet; Error if the reader was too slow */
  end(outcome: FinishReason | OpenAiError, usage: TokenUsage): void;
  /** Ends it for a reader that is gone. */
  drop(): void;
}

/**
 * Writes the chunks of one response. The status is sent with the first part of the reply, so that a failure before it
 * has a status of its own.
 * @param given.onSlowReader called if too much waits for the reader. The response must then end incomplete: clients
 * take a stream that ends as it should for the whole text, with or without its last line.
 */
export function openCompletionStream(given: {
  open: () => Writable;
  chunks: ReturnType<typeof completionChunks>;
  clock: Clock;
  requestId: string;
  onSlowReader: () => void;
}): CompletionStream {
  const { chunks, clock } = given;
  let stream: Writable | undefined;
  let isTooSlow = false;
  let cancelSilence: Cancel = () => undefined;

  function write(text: string): void {
    if (isTooSlow) return;
    cancelSilence();
    if (stream === undefined) {
      stream = given.open();
      stream.write(textOf(chunks.role()));
    }
    stream.write(text);
    isTooSlow = stream.writableLength > limits.unreadStreamCharacters;
    if (isTooSlow) given.onSlowReader();
    else watchSilence();
  }
  function watchSilence(): void {
    cancelSilence = clock.after(silenceMilliseconds, () => write(textOf(chunks.silence())));
  }

  watchSilence();
  return {
    emit(event) {
      for (const chunk of chunks.of(event)) write(textOf(chunk));
    },
    drop: () => cancelSilence(),
    end(outcome, usage) {
      cancelSilence();
      if (isTooSlow) throw new Error('The reader of a stream was too slow');
      if (!(outcome instanceof OpenAiError))
        write([...chunks.end(outcome, usage).map(textOf), endOfStream].join(''));
      else if (stream === undefined) throw outcome;
      else write(`data: ${jsonLine({ error: errorObjectOf(outcome, given.requestId) })}\n\n`);
      cancelSilence();
    },
  };
}

const textOf = (chunk: ChatCompletionChunk): string => `data: ${jsonLine(chunk)}\n\n`;
