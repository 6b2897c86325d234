import type { StreamEventBody } from '#contract/events.ts';
import type { ReplyError } from '#contract/message.ts';
import { measurements, traced } from './invocation.ts';

type Emit = (event: StreamEventBody) => void;

const route = 'send-message';

/** Takes the times of a reply, from the moment on when its invocation began. */
export function timeReply(startedAt: number): {
  listening: (emit: Emit) => Emit;
  ended: (reply: { error: ReplyError | null }) => void;
} {
  let hasSpoken = false;
  let calledAt = 0;
  return {
    listening: (emit) => (event) => {
      emit(event);
      if (event.type === 'response.created') calledAt = Date.now();
      if (hasSpoken || event.type !== 'response.output_text.delta') return;
      hasSpoken = true;
      traced({ name: 'until the first delta', start: calledAt, end: Date.now(), outcome: 'ok' });
      measurements.add('timeToFirstDelta', Math.round(performance.now() - startedAt), { route });
    },
    ended({ error }) {
      traced({ name: 'reply', start: calledAt, end: Date.now(), outcome: error === null ? 'ok' : 'fault' });
      measurements.add('replyTime', Math.round(performance.now() - startedAt), { route });
      if (error !== null) measurements.add('failedReplies', 1, { route });
    },
  };
}
