import type { StreamEventBody } from '#contract/events.ts';
import type { ReplyRequest } from './agent-runtime.ts';
import { type CollectedReply, collectReply, ReplyAborted } from './collect-reply.ts';
import { interrupted } from './gather-reply.ts';
import { ReplyBudget } from './reply-budget.ts';

/** A reply that the model is making. Its events are buffered until they are forwarded. */
export interface RunningReply {
  budget: ReplyBudget;
  /** The reply, complete or not. Never rejects. */
  completed: Promise<CollectedReply>;
  /** Forwards the buffered events, and from now on each event at once. */
  forwardTo(emit: (event: StreamEventBody) => void): void;
  /**
   * Aborts the model and the tools, if they still run.
   * @returns resolves when the call of the model has ended
   */
  abort(): Promise<void>;
  /** Aborts the reply. It is also aborted when the reply fails. */
  stop: AbortController;
}

/**
 * Calls the model. The user message may not be stored yet, so nothing of the reply may reach a client.
 * @param deadline milliseconds that the model may take in all
 */
export function startReply(
  services: Parameters<typeof collectReply>[0],
  request: Omit<ReplyRequest, 'budget' | 'signal'>,
  deadline: number,
): RunningReply {
  const stop = new AbortController();
  const budget = new ReplyBudget(services.replySettings.limits);
  const buffered: StreamEventBody[] = [];
  let emit = (event: StreamEventBody): void => void buffered.push(event);
  const completed = collectReply(
    services,
    { ...request, budget },
    { emit: (event) => emit(event), stop, deadline },
  );
  return {
    budget,
    completed,
    forwardTo(listener) {
      for (const event of buffered.splice(0)) listener(event);
      emit = listener;
    },
    async abort() {
      stop.abort(new ReplyAborted('lease-lost', interrupted));
      const { modelEnded } = await completed;
      await modelEnded;
    },
    stop,
  };
}
