import { eventOf, eventText } from '#contract/event-text.ts';
import type { StreamEventBody } from '#contract/events.ts';
import type { Cancel } from '#domain/platform/clock.ts';
import type { ReplyName, StoredEvents } from './reply-event-store.ts';
import type { Services } from './services.ts';

/** Stores what a stream sends, so that a client can resume it. */
export interface EventRecorder {
  /**
   * Never waits, and never fails.
   * @param text the event as it was sent
   */
  add(event: StreamEventBody, text: string): void;
  /** The first write has ended. Never fails. */
  started(): Promise<void>;
  /** Stores the last events. Never fails. */
  finish(): Promise<void>;
}

/** Milliseconds between two writes: one write unit a second for a fast model. */
const writeInterval = 1000;

/** Attempts to store the last events, in addition to the retries of the store. They delay the end of the stream. */
const attemptsAtEnd = 3;

/**
 * Records the events of a reply. The first event is stored at once, and so are the last ones; the others within a
 * second. Writes follow one another, so a reader never sees events without those before them. The final text is not
 * stored: it would cost a write unit for each 2,000 characters, and the deltas have the same text.
 */
export function recordEvents(
  { replyEvents, clock, log }: Services<'clock' | 'log' | 'replyEvents'>,
  reply: ReplyName,
): EventRecorder {
  let first = 0;
  let said = '';
  let waiting: string[] = [];
  /** Events whose write has not succeeded yet. */
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
          // Events whose write has failed before are stored first.
          while (!(await store(true)).isLast);
          return;
        } catch (error) {
          logFailure(error);
        }
    },
  };
}

const withoutFinalText = (text: string): string => eventText({ ...eventOf(text), ...{ final_text: '' } });
