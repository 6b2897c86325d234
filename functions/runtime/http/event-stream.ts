import type { Writable } from 'node:stream';
import { errorTable } from '#contract/errors.ts';
import type { StreamEventBody } from '#contract/events.ts';
import { limits } from '#contract/limits.ts';
import type { Cancel, Clock } from '#domain/platform/clock.ts';

/** Proxies on the way close connections that are silent for 30 s or more: a model may think for longer. */
const longestSilence = 15_000;

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
  /** Writes `[DONE]`: what is sent later is not told. */
  done(): void;
}

/** Of which there are many in a reply; what ends it is sent whatever waits. */
const isOneOfMany = ({ type }: StreamEventBody): boolean =>
  type === 'response.output_text.delta' || type.startsWith('response.reasoning_step.');

/**
 * Server-sent events (specification, section 6.1). Writing never waits for the reader: a reader that is slow or gone
 * does not hold up the reply. When too much waits for it, its stream ends with an error, and the reply goes on.
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
    cancelPing = clock.after(longestSilence, () => {
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
      if (!isOneOfMany(event) || stream.writableLength <= limits.unreadStreamCharacters) return write(event);
      write({ type: 'response.error', ...readTooSlowly });
      done();
    },
    done,
  };
}
