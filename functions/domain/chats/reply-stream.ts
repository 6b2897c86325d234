import { errorTable, noStreamToResume } from '#contract/errors.ts';
import { endOfStream, eventOf, eventText, type StreamEventBody } from '#contract/events.ts';
import { allEnded } from '#domain/platform/promises.ts';
import type { Cancel } from '#domain/platform/services.ts';
import { type ChatOfUser, leaseIdOf, responseIdOf } from './chat.ts';
import { findChat } from './chats.ts';
import { interrupted } from './collect-reply.ts';
import { storedText } from './history.ts';
import { messageId } from './message.ts';
import type { LiveReply, StoredReply } from './send-turn.ts';
import type { ReplyName, Services, StoredEvents } from './services.ts';

export interface EventRecorder {
  /** Never waits, and never fails: the next write repeats a write that failed. */
  add(event: StreamEventBody, text: string): void;
  /** Resolves when the first write, if any, has ended. Never fails. */
  started(): Promise<void>;
  /** Tries a few times to store the last events. Never fails. */
  finish(): Promise<void>;
}

const writeInterval = 1000;

const attemptsAtEnd = 3;

/**
 * Writes follow one another, so a reader sees no event without the events before it. To save write units, the final
 * text is not stored if the deltas have the same text.
 */
export function recordEvents(
  { replyEvents, clock, log }: Services<'clock' | 'log' | 'replyEvents'>,
  reply: ReplyName,
): EventRecorder {
  let first = 0;
  let said = '';
  let waiting: string[] = [];
  let unstored: StoredEvents | undefined;
  let storing: Promise<unknown> | undefined;
  let firstWrite: Promise<unknown> | undefined;
  let cancel: Cancel | undefined;

  async function store(isLast: boolean): Promise<StoredEvents> {
    if (unstored === undefined) {
      unstored = { first, texts: waiting, isLast };
      first += waiting.length;
      waiting = [];
    }
    const events = unstored;
    await replyEvents.append(reply, events, clock.now());
    unstored = undefined;
    return events;
  }

  const logFailure = (error: unknown) =>
    log.warn('Events of a resumable reply were not stored', { chatId: reply.chatId, error });

  function storeWaiting(): void {
    if (storing !== undefined || (unstored === undefined && waiting.length === 0)) return;
    storing = store(false)
      .catch(logFailure)
      .finally(() => {
        storing = undefined;
      });
    firstWrite ??= storing;
  }

  return {
    add(event, text) {
      if (event.type === 'response.output_text.delta') said += event.delta;
      const isSaid = event.type === 'response.output_text.completed' && event.final_text === said;
      waiting.push(isSaid ? withoutFinalText(text) : text);
      if (cancel !== undefined) return;
      cancel = clock.every(writeInterval, storeWaiting);
      storeWaiting();
    },
    async started() {
      await firstWrite;
    },
    async finish() {
      cancel?.();
      await storing;
      for (let attempt = 1; attempt <= attemptsAtEnd; attempt += 1)
        try {
          // Events of a failed write are stored first.
          while (!(await store(true)).isLast);
          return;
        } catch (error) {
          logFailure(error);
        }
    },
  };
}

const withoutFinalText = (text: string): string => eventText({ ...eventOf(text), ...{ final_text: '' } });

type FollowServices = Services<'chats' | 'clock' | 'replyEvents'>;

const readInterval = 500;

/**
 * Milliseconds from the first read that does not find the reply's chat lease until its function counts as dead. Before
 * the function ends, it may wait for a title, and stores the last events.
 */
const timeToEnd = 5000;

/**
 * Yields the stored events after the event `startingAfter`, then those that the running reply stores, and `[DONE]`.
 * Also yields empty texts, so that the caller can stop while no event comes.
 * @param startingAfter sequence number; -1 for the whole stream
 * @param restOf makes the missing events if the end is not stored and no more events are expected; by default an error
 */
export async function* followReply(
  services: FollowServices,
  reply: ReplyName,
  startingAfter: number,
  restOf: RestOf = async (sent) => [errorAfter(reply, sent)],
): AsyncGenerator<string> {
  const hasDied = watchOwner(services, reply);
  // The event of `startingAfter` is read again: if it is the last one, its record may say that the reply is complete.
  const reading: Reading = { sent: startingAfter, next: Math.max(startingAfter, 0) };
  for (let isOver = false; ; ) {
    const { next } = reading;
    if (yield* storedTexts(services, reply, reading)) return yield endOfStream;
    if (reading.next === next) {
      if (isOver) return yield* endOf(services, reply, reading, restOf);
      isOver = await hasDied();
      yield '';
    }
    await new Promise<void>((resolve) => services.clock.after(readInterval, resolve));
  }
}

/** `sent`: as in `Reading`. `[DONE]` is not among the events. */
type RestOf = (sent: number) => Promise<Iterable<string>>;

/** All stored events are read once more, because the client may have named an event beyond the last one. */
async function* endOf(
  services: FollowServices,
  reply: ReplyName,
  { sent }: Reading,
  restOf: RestOf,
): AsyncGenerator<string> {
  const reading = { sent, next: 0 };
  const isComplete = yield* storedTexts(services, reply, reading);
  const rest = isComplete ? [] : await restOf(reading.sent);
  yield [...rest, endOfStream].join('');
}

interface Reading {
  /** Sequence number of the last event that was sent; before the first one, `startingAfter`. */
  sent: number;
  next: number;
}

/** Advances `reading`. Returns whether the end of the reply was read. */
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

/** Whether the final text was left out (see `recordEvents`), or is empty. */
const hasNoFinalText = (text: string): boolean =>
  text.startsWith('event: response.output_text.completed\n') && text.includes('"final_text":""');

const withFinalText = async (services: FollowServices, reply: ReplyName, text: string): Promise<string> =>
  eventText({ ...eventOf(text), ...{ final_text: await storedText(services, reply) } });

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

/**
 * Yields the stored events, if there are any. The rest of a stored reply is made from its message, with the text in one
 * delta.
 */
export async function* repeatedStream(
  services: Parameters<typeof followReply>[0] & Services<'identifiers'>,
  repeated: StoredReply | LiveReply,
  { workspaceId, chatId, agentId }: { workspaceId: string; chatId: number; agentId: string },
): AsyncGenerator<string> {
  if ('responseId' in repeated)
    return yield* followReply(services, { workspaceId, chatId, responseId: repeated.responseId }, -1);
  const stored = repeated.reply.responseId;
  const responseId = stored ?? responseIdOf({ id: services.identifiers.uuid() });
  const name = { workspaceId, chatId, responseId };
  const textsAfter = (sent: number, said: string): string[] =>
    eventsAfter(sent, said, eventsOf(chatId, agentId, repeated)).map((event, index) =>
      eventText({
        ...event,
        ...{ response_id: responseId, chat_id: chatId, sequence_number: sent + 1 + index },
      }),
    );
  if (stored !== undefined && (await services.replyEvents.hasReply(name, services.clock.now())))
    return yield* followReply(services, name, -1, async (sent) =>
      textsAfter(sent, await storedText(services, name)),
    );
  yield* textsAfter(-1, '');
  yield endOfStream;
}

const eventsAfter = (sent: number, said: string, events: Iterable<StreamEventBody>): StreamEventBody[] =>
  [...events].flatMap((event): StreamEventBody[] => {
    if (event.type === 'response.created' && sent >= 0) return [];
    if (event.type !== 'response.output_text.delta') return [event];
    const delta = event.delta.slice(said.length);
    return delta === '' ? [] : [{ ...event, delta }];
  });

function* eventsOf(
  chatId: number,
  agentId: string,
  { reply, agent }: StoredReply,
): Generator<StreamEventBody> {
  const message_id = messageId(chatId, reply.position);
  yield { type: 'response.created', message_id, agent_id: agentId, model: agent?.definition.llm_model ?? '' };
  if (reply.content !== '') yield { type: 'response.output_text.delta', delta: reply.content };
  if (reply.error !== null) yield { type: 'response.error', ...reply.error };
  else
    yield {
      type: 'response.output_text.completed',
      message_id,
      final_text: reply.content,
      usage: reply.tokenUsage,
      ...(reply.incomplete !== null && { incomplete: reply.incomplete }),
    };
}

/** @throws the errors of findChat, then notFound, for example if the events of the reply have expired */
export async function resumeReply(
  services: Services<'chats' | 'clock' | 'replyEvents' | 'workspaces'>,
  input: ChatOfUser & { responseId: string; startingAfter: number | undefined },
): Promise<AsyncGenerator<string>> {
  const { workspaceId, chatId, responseId } = input;
  const reply = { workspaceId, chatId, responseId };
  const hasReply = () => services.replyEvents.hasReply(reply, services.clock.now());
  const [chat, hasEvents] = await allEnded([findChat(services, input), hasReply()]);
  const leaseId = leaseIdOf(responseId);
  // A client may resume before the first event is stored. The reply's function releases the lease later than that,
  // unless the write fails.
  const isRunning = leaseId !== undefined && chat.lease?.id === leaseId;
  if (!hasEvents && !isRunning && !(await hasReply())) throw noStreamToResume();
  return followReply(services, reply, input.startingAfter ?? -1);
}
