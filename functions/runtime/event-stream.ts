import type { Writable } from 'node:stream';
import type { StreamEventBody } from '#contract/events.ts';
import type { Cancel, Clock } from '#domain/ports/clock.ts';

/** Proxies on the way close connections that are silent for 30 s or more. */
const pingMilliseconds = 15_000;

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

/**
 * Server-sent events (specification, section 6.1). Writing never waits for the reader: a reader that is slow or gone
 * does not hold up the reply, whose length bounds what is kept for it.
 */
export function openEventStream(
  stream: Writable,
  common: { responseId: string; chatId: number },
  clock: Clock,
): EventStream {
  let sequenceNumber = 0;
  let isDone = false;
  stream.write(': ping\n\n');
  const stopPinging: Cancel = clock.every(pingMilliseconds, () => stream.write(': ping\n\n'));
  return {
    send(event) {
      if (isDone) return;
      const payload = {
        ...event,
        response_id: common.responseId,
        chat_id: common.chatId,
        sequence_number: sequenceNumber,
      };
      sequenceNumber += 1;
      stream.write(`event: ${event.type}\ndata: ${JSON.stringify(payload)}\n\n`);
    },
    done() {
      isDone = true;
      stopPinging();
      stream.write('data: [DONE]\n\n');
    },
  };
}
