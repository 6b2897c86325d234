import { errorTable } from '#contract/errors.ts';
import { endOfStream, eventOf, eventText } from '#contract/event-text.ts';
import { leaseIdOf } from './chat.ts';
import { interrupted } from './gather-reply.ts';
import type { ReplyName } from './reply-event-store.ts';
import type { Services } from './services.ts';
import { storedText } from './stored-text.ts';

type FollowServices = Services<'chats' | 'clock' | 'replyEvents'>;

/** Milliseconds between two reads: a reader is at most this much behind what is stored. */
const readInterval = 500;

/**
 * A function releases the chat lease before its last events. It still has 2 s for a title, and then stores them. After
 * this time, in milliseconds, it has died.
 */
const timeToEnd = 5000;

/**
 * The stream of a resumable reply after an event, byte for byte: first what is stored, then what the running reply
 * stores, until `[DONE]`. Texts may be empty. If the function of the reply has died, the stream ends with an error.
 * @param startingAfter sequence number; -1 for the whole stream
 */
export async function* followReply(
  services: FollowServices,
  reply: ReplyName,
  startingAfter: number,
): AsyncGenerator<string> {
  const hasDied = watchOwner(services, reply);
  // The event of `startingAfter` is read once more: if it is the last one, nothing else says that the reply is complete.
  const reading: Reading = { sent: startingAfter, next: Math.max(startingAfter, 0) };
  for (let isOver = false; ; ) {
    const { next } = reading;
    if (yield* storedTexts(services, reply, reading)) return yield endOfStream;
    if (reading.next === next) {
      if (isOver) return yield* endOf(services, reply, reading);
      isOver = await hasDied();
      // Lets a caller stop whose client is gone.
      yield '';
    }
    await new Promise<void>((resolve) => services.clock.after(readInterval, resolve));
  }
}

/** The end of a stream to which nothing is added: with an error, unless the client named an event beyond the last one. */
async function* endOf(services: FollowServices, reply: ReplyName, reading: Reading): AsyncGenerator<string> {
  const isComplete = yield* storedTexts(services, reply, { ...reading, next: 0 });
  yield (isComplete ? '' : errorAfter(reply, reading.sent)) + endOfStream;
}

/** How far a stream has been read. */
interface Reading {
  /** Sequence number of the last event that the client has. */
  sent: number;
  /** Sequence number to read from. */
  next: number;
}

/** @returns whether these were the last events */
async function* storedTexts(
  services: FollowServices,
  reply: ReplyName,
  reading: Reading,
): AsyncGenerator<string, boolean> {
  for await (const { first, texts, isLast } of services.replyEvents.eventsFrom(reply, reading.next)) {
    const unsent = texts.slice(Math.max(reading.sent + 1 - first, 0));
    const last = unsent.findIndex(hasNoFinalText);
    if (last !== -1) unsent[last] = await withFinalText(services, reply, unsent[last] ?? '');
    if (unsent.length > 0) yield unsent.join('');
    reading.next = first + texts.length;
    reading.sent = Math.max(reading.sent, reading.next - 1);
    if (isLast) return true;
  }
  return false;
}

/** The final text is not stored, because the deltas have the same text. */
const hasNoFinalText = (text: string): boolean =>
  text.startsWith('event: response.output_text.completed\n') && text.includes('"final_text":""');

const withFinalText = async (services: FollowServices, reply: ReplyName, text: string): Promise<string> =>
  eventText({ ...eventOf(text), ...{ final_text: await storedText(services, reply) } });

/** @returns whether the function of the reply stores nothing more */
function watchOwner({ chats, clock }: FollowServices, { workspaceId, chatId, responseId }: ReplyName) {
  const leaseId = leaseIdOf(responseId);
  let releasedAt: number | undefined;
  return async (): Promise<boolean> => {
    const chat = await chats.get(workspaceId, chatId);
    const now = clock.now().getTime();
    if (chat?.lease != null && chat.lease.id === leaseId) return chat.lease.until <= now;
    releasedAt ??= now;
    return now - releasedAt >= timeToEnd;
  };
}

const errorAfter = ({ chatId, responseId }: ReplyName, sent: number): string => {
  const error = { code: errorTable.serverError.errorCode, message: interrupted };
  return eventText({
    ...{ type: 'response.error', ...error },
    ...{ response_id: responseId, chat_id: chatId, sequence_number: sent + 1 },
  });
};
