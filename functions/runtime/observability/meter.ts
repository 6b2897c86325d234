import type { StreamEventBody } from '#contract/events.ts';
import type { Meter } from '#domain/platform/services.ts';
import { addTracedPart, measurements } from './invocation.ts';

export const meter: Meter = {
  replied({ calls, reasoningSteps }) {
    for (const [model, , promptTokens, completionTokens, cachedTokens = 0] of calls) {
      measurements.add('modelCalls', 1, { model });
      measurements.add('promptTokens', promptTokens, { model });
      measurements.add('completionTokens', completionTokens, { model });
      measurements.add('cachedTokens', cachedTokens, { model });
    }
    for (const { type: tool, result, started_at, ended_at } of reasoningSteps) {
      const [start, end] = [Date.parse(started_at), Date.parse(ended_at ?? started_at)];
      addTracedPart({ name: tool, start, end, outcome: result?.success === true ? 'ok' : 'fault' });
      measurements.add('steps', 1, { tool });
      if (result?.success !== true) measurements.add('failedSteps', 1, { tool });
    }
  },
  modelFailed: (model, failure) => measurements.add('modelFailures', 1, { model, failure }),
  modelRetried: (model, failure) => measurements.add('modelRetries', 1, { model, failure }),
  requestsProcessed({ done, failed, delayed }) {
    if (done > 0) measurements.add('batchRequestsDone', done, {});
    if (failed > 0) measurements.add('batchRequestsFailed', failed, {});
    if (delayed > 0) measurements.add('batchRequestsDelayed', delayed, {});
  },
  batchEnded: (status, age) => measurements.add('batchAge', age / 1000, { status }),
  webhookCalled: (outcome) => measurements.add('webhookAttempts', 1, { outcome }),
  keyRejected: (reason) => measurements.add('rejectedKeys', 1, { reason }),
  usageNotCounted: () => measurements.add('lostUsage', 1, {}),
};

type Emit = (event: StreamEventBody) => void;

/** @param startedAt `performance.now()` at the start of the route's work */
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
      const outcome = error === null ? 'ok' : 'fault';
      addTracedPart({ name: 'reply', start: calledAt, end: Date.now(), outcome });
      measurements.add('replyTime', Math.round(performance.now() - startedAt), { route });
      if (error !== null) measurements.add('failedReplies', 1, { route });
    },
  };
}
