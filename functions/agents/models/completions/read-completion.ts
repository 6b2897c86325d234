import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { createParser } from 'eventsource-parser';
import { ModelFailure } from '#domain/platform/failures.ts';
import { CompletionParts, type SkippedEvent } from './completion-request.ts';

/** In characters. Also the limit of a response that is one JSON object. */
const longestEvent = 16 * 1024 * 1024;

/** In bytes, decompressed. A reply of 1 MiB in deltas of one character has some 300 MB. */
const longestResponse = 512 * 1024 * 1024;

/** In milliseconds. Some servers leave the connection open after the reply is complete. */
const timeToEnd = 3000;

/**
 * Reads server-sent events or one JSON object, whatever the content type is. If the response ends before the reply is
 * complete, the last part is an error.
 */
export function readCompletion(
  body: ReadableStream<Uint8Array>,
  onSkipped: (kind: SkippedEvent, count: number) => void,
): ReadableStream<LanguageModelV4StreamPart> {
  const reader = body.getReader();
  const completion = new CompletionParts();
  const response = new ResponseReader(completion);
  let timer: NodeJS.Timeout | undefined;
  const cancel = (): void => void reader.cancel().catch(() => undefined);
  const cancelAfterSilence = (): void => {
    clearTimeout(timer);
    timer = setTimeout(cancel, timeToEnd).unref();
  };
  const readOn = async (): Promise<void> => {
    const { value } = await reader.read();
    const { events } = completion;
    if (value === undefined) response.end();
    else response.read(value);
    if (completion.isComplete && (timer === undefined || completion.events > events)) cancelAfterSilence();
  };
  const end = async (): Promise<void> => {
    for (const [kind, count] of completion.skipped) onSkipped(kind, count);
    completion.skipped.clear();
    // The next call can use the connection if the response is read to its end.
    if (completion.isDone) {
      cancelAfterSilence();
      await reader.read().catch(() => undefined);
    }
    clearTimeout(timer);
    cancel();
  };
  return new ReadableStream(
    {
      async pull(controller) {
        while (!completion.isClosed && completion.parts.length === 0)
          await readOn().catch((error: unknown) => completion.close(error));
        for (const part of completion.parts.splice(0)) controller.enqueue(part);
        if (!completion.isClosed) return;
        void end();
        controller.close();
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}

class ResponseReader {
  readonly #completion: CompletionParts;
  readonly #decoder = new TextDecoder();
  readonly #parser = createParser({
    maxBufferSize: longestEvent,
    onEvent: ({ event, data }) => this.#completion.read(data, event),
    onError: ({ type }) => type === 'max-buffer-size-exceeded' && this.#closeAsTooLong(),
  });
  #bytes = 0;
  #hasStarted = false;
  #object: string | undefined;

  constructor(completion: CompletionParts) {
    this.#completion = completion;
  }

  read(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    this.#readText(this.#decoder.decode(bytes, { stream: true }));
    if (this.#bytes > longestResponse || (this.#object?.length ?? 0) > longestEvent) this.#closeAsTooLong();
  }

  end(): void {
    this.#readText(this.#decoder.decode());
    // The last event may lack the empty line that ends it.
    if (this.#object === undefined) this.#readText('\n\n');
    else {
      this.#completion.read(this.#object);
      this.#completion.read('[DONE]');
    }
    this.#completion.close();
  }

  #readText(given: string): void {
    const text = this.#hasStarted ? given : given.trimStart();
    if (!this.#hasStarted && text.startsWith('{')) this.#object = '';
    this.#hasStarted ||= text !== '';
    if (this.#object !== undefined) this.#object += text;
    else if (!this.#completion.isClosed) this.#parser.feed(text);
  }

  #closeAsTooLong(): void {
    this.#completion.close(new ModelFailure('failed', 'The provider sent a response that is too long'));
  }
}
