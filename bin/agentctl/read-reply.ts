import { EventSourceParserStream } from 'eventsource-parser/stream';
import type { StreamEvent } from '#contract/events.ts';

/** More than the 90 s without events after which the service ends a stream (specification, section 8). */
const silenceSeconds = 100;

export class InterruptedStream extends Error {
  constructor(reason: string) {
    super(
      `The stream was interrupted here (${reason}); the service completes the reply and stores it in the history`,
    );
  }
}

/**
 * The events of a streamed reply, as they arrive.
 * @throws InterruptedStream if the stream ends before `[DONE]`, or is silent for 100 s
 */
export async function* readReply(response: Response): AsyncGenerator<StreamEvent> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(), silenceSeconds * 1000);
  const events = (response.body ?? new ReadableStream<Uint8Array<ArrayBuffer>>())
    .pipeThrough(
      new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
        transform(chunk, controller) {
          timer.refresh();
          controller.enqueue(chunk);
        },
      }),
      { signal: silence.signal },
    )
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  try {
    for await (const { data } of events) {
      if (data === '[DONE]') return;
      yield JSON.parse(data) as StreamEvent;
    }
  } catch (error) {
    throw new InterruptedStream(
      silence.signal.aborted ? `no data for ${silenceSeconds} s` : (error as Error).message,
    );
  } finally {
    clearTimeout(timer);
  }
  throw new InterruptedStream('it ended early');
}
