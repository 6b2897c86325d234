import type { Writable } from 'node:stream';
import { errorTable } from '#contract/errors.ts';
import type { StreamEventBody } from '#contract/events.ts';
import { limits } from '#contract/limits.ts';
import type { Cancel, Clock } from '#domain/platform/clock.ts';

/**
 * Milliseconds of silence before a ping. Proxies may close connections after 30 s of silence, and a model may take
 * longer.
 */
const pingAfter = 15_000;

const readTooSlowly = {
  code: errorTable.serverError.errorCode,
  message: 'The stream is read too slowly: the reply goes on, and will be in the history of the chat',
};

export const eventStreamHeaders = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
};

export interface EventStream {
  send(event: StreamEventBody): void;
  /** Writes `[DONE]`. Later events are dropped. */
  done(): void;
}

/** Deltas and steps: a reply may have many. The few other events are sent even if the buffer is full. */
const isFrequent = ({ type }: StreamEventBody): boolean =>
  type === 'response.output_text.delta' || type.startsWith('response.reasoning_step.');

/**
 * Writes server-sent events (specification, section 6.1). Writing never waits for the reader, so a slow or disconnected
 * reader does not delay the reply. If too much is buffered for a slow reader, the stream ends with an error and the
 * reply continues.
 */
export function openEventStream(
  stream: Writable,
  common: { responseId: string; chatId: number },
  clock: Clock,
): EventStream {
  let sequenceNumber = 0;
  let isDone = false;
  let cancelPing: Cancel = () => {};
  const pingAfterSilence = (): void => {
    cancelPing();
    cancelPing = clock.after(pingAfter, () => {
      stream.write(': ping\n\n');
      pingAfterSilence();
    });
  };
  pingAfterSilence();
  const write = (event: StreamEventBody): void => {
    const payload = {
      ...event,
      response_id: common.responseId,
      chat_id: common.chatId,
      sequence_number: sequenceNumber,
    };
    sequenceNumber += 1;
    stream.write(`event: ${event.type}\ndata: ${JSON.stringify(payload)}\n\n`);
    pingAfterSilence();
  };
  const done = (): void => {
    if (isDone) return;
    isDone = true;
    cancelPing();
    stream.write('data: [DONE]\n\n');
  };
  return {
    send(event) {
      if (isDone) return;
      if (!isFrequent(event) || stream.writableLength <= limits.unreadStreamCharacters) return write(event);
      write({ type: 'response.error', ...readTooSlowly });
      done();
    },
    done,
  };
}
