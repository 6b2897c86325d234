import type { StreamEventBody } from '#contract/events.ts';
import { collectReply, ReplyAborted } from './collect-reply.ts';
import { interrupted, type Reply } from './gather-reply.ts';
import { ReplyBudget } from './reply-budget.ts';
import type { Turn } from './turn.ts';

/** A reply that the model has been asked for, before its user message is known to be stored. */
export interface RunningReply {
  /** Aborts it. */
  stop: AbortController;
  budget: ReplyBudget;
  /** Whole or not; never rejects. */
  collected: Promise<{ reply: Reply; error: unknown }>;
  /** Passes on what has been held back so far, and from now on each event at once. */
  forwardTo(emit: (event: StreamEventBody) => void): void;
  /** Nobody is to hear of it. Resolves when nothing goes on. */
  abort(): Promise<void>;
}

/**
 * Asks the model, and holds back what it says until somebody may hear it.
 * @param deadline milliseconds that the model may take in all
 */
export const startReply =
  (services: Parameters<typeof collectReply>[0]) =>
  (turn: Turn, deadline: number): RunningReply => {
    const stop = new AbortController();
    const budget = new ReplyBudget(services.replySettings.limits);
    const buffered: StreamEventBody[] = [];
    let emit = (event: StreamEventBody): void => void buffered.push(event);
    const collected = collectReply(services)(
      { ...turn, budget },
      { emit: (event) => emit(event), stop, deadline },
    );
    return {
      stop,
      budget,
      collected,
      forwardTo(listener) {
        for (const event of buffered.splice(0)) listener(event);
        emit = listener;
      },
      async abort() {
        stop.abort(new ReplyAborted('lost', interrupted));
        await collected;
      },
    };
  };
