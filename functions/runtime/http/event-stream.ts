import type { Writable } from 'node:stream';
import { errorTable } from '#contract/errors.ts';
import { endOfStream, eventText, type StreamEventBody } from '#contract/events.ts';
import { limits } from '#contract/limits.ts';
import type { ReplySink } from '#domain/chats/forward-reply.ts';
import type { EventRecorder } from '#domain/chats/reply-stream.ts';
import type { Cancel, Clock } from '#domain/platform/services.ts';

/** In milliseconds. Proxies may close connections after 30 s of silence. */
const pingAfter = 15_000;

const ping = ': ping\n\n';

/** Milliseconds before the route's timeout at which a stored stream starts to end. */
const timeToClose = 10_000;

const readTooSlowly = {
  code: errorTable.serverError.errorCode,
  message: 'The stream is read too slowly: the reply goes on, and will be in the history of the chat',
};

export const eventStreamHeaders = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
};

/** Whether a reply may have many such events. */
const isFrequent = ({ type }: StreamEventBody): boolean =>
  type === 'response.output_text.delta' || type.startsWith('response.reasoning_step.');

/**
 * Writing never waits for the reader, so a slow or disconnected reader does not delay the reply.
 * The error for a slow reader has the number of the event before it: the reply has no such event, and a client that can
 * resume does so after that event.
 * @param recorder also gets the events after the stream has ended for a slow reader
 */
export function openEventStream(
  stream: Writable,
  common: { responseId: string; chatId: number },
  clock: Clock,
  recorder?: EventRecorder,
): ReplySink {
  let sequenceNumber = 0;
  let isDone = false;
  let isClosed = false;
  const writer = pingedStream(stream, clock);
  const textOf = (event: StreamEventBody, number: number): string =>
    eventText({
      ...event,
      ...{ response_id: common.responseId, chat_id: common.chatId, sequence_number: number },
    });
  const close = (): void => {
    if (isClosed) return;
    isClosed = true;
    writer.stop();
    stream.write(endOfStream);
  };
  return {
    emit(event) {
      if (isDone || (isClosed && recorder === undefined)) return;
      const text = textOf(event, sequenceNumber);
      recorder?.add(event, text);
      if (!isClosed && isFrequent(event) && stream.writableLength > limits.unreadStreamCharacters) {
        writer.write(textOf({ type: 'response.error', ...readTooSlowly }, sequenceNumber - 1));
        close();
      } else if (!isClosed) writer.write(text);
      sequenceNumber += 1;
    },
    async started() {
      await recorder?.started();
    },
    async done() {
      isDone = true;
      await recorder?.finish();
      close();
    },
  };
}

/**
 * @param open called after the first read, so that a failure until then gets its own status
 * @param milliseconds until the route's timeout, before which the stream ends
 */
export async function writeStoredStream(
  open: () => Writable,
  texts: AsyncGenerator<string>,
  clock: Clock,
  milliseconds: number,
): Promise<void> {
  let text = await texts.next();
  const stream = open();
  let isOver = false;
  const over = Promise.withResolvers<void>();
  const end = (): void => {
    isOver = true;
    over.resolve();
  };
  stream.once('close', end);
  const cancel = clock.after(milliseconds - timeToClose, end);
  const writer = pingedStream(stream, clock);
  let isOpen = false;
  try {
    for (; text.done !== true && !isOver; text = await texts.next()) {
      // The headers are sent with the first bytes, so a client that must wait for the first event gets a ping.
      const bytes = text.value === '' && !isOpen ? ping : text.value;
      isOpen = true;
      if (bytes !== '' && !writer.write(bytes))
        await Promise.race([over.promise, new Promise((resolve) => stream.once('drain', resolve))]);
    }
  } finally {
    writer.stop();
    cancel();
  }
}

function pingedStream(stream: Writable, clock: Clock): { write(text: string): boolean; stop: Cancel } {
  let cancel: Cancel = () => {};
  const pingAfterSilence = (): void => {
    cancel();
    cancel = clock.after(pingAfter, () => {
      stream.write(ping);
      pingAfterSilence();
    });
  };
  pingAfterSilence();
  return {
    write(text) {
      pingAfterSilence();
      return stream.write(text);
    },
    stop: () => cancel(),
  };
}
