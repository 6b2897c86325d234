import type { StreamEventBody } from '#contract/events.ts';
import { addTracedPart, measurements } from './invocation.ts';

type Emit = (event: StreamEventBody) => void;

/**
 * Measures the times of a reply for metrics and trace.
 * @param startedAt `performance.now()` at the start of the invocation
 */
export function timeReply(
  route: 'send-message' | 'complete-chat',
  startedAt: number,
): { listening: (emit: Emit) => Emit; ended: (reply: { error: unknown }) => void } {
  let hasSpoken = false;
  let calledAt = Date.now();
  return {
    listening: (emit) => (event) => {
      emit(event);
      if (event.type === 'response.created') calledAt = Date.now();
      if (hasSpoken || event.type !== 'response.output_text.delta') return;
      hasSpoken = true;
      addTracedPart({ name: 'until the first delta', start: calledAt, end: Date.now(), outcome: 'ok' });
      measurements.add('timeToFirstDelta', Math.round(performance.now() - startedAt), { route });
    },
    ended({ error }) {
      addTracedPart({
        name: 'reply',
        start: calledAt,
        end: Date.now(),
        outcome: error === null ? 'ok' : 'fault',
      });
      measurements.add('replyTime', Math.round(performance.now() - startedAt), { route });
      if (error !== null) measurements.add('failedReplies', 1, { route });
    },
  };
}
