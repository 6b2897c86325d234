import { type Alarms, fiveMinutes, formula, sumOf } from '../alarms.ts';
import { serviceMetric } from '../service-metric.ts';

/** The kinds of failures for which the model is responsible. Not `tooLong`: the client's message causes it. */
const modelFailures = ['throttled', 'unavailable', 'refused', 'failed', 'stalled', 'slow'] as const;

/** Below this number of replies, one of them is more than the 5 % that may be late. */
const fewReplies = 20;

export function watchReplies(alarms: Alarms, { firstDeltaSeconds }: { firstDeltaSeconds: number }): void {
  const countOf = (route: 'send-message' | 'complete-chat') =>
    serviceMetric(alarms, 'replyTime', { route }, { period: fiveMinutes, statistic: 'SampleCount' });
  const failures = sumOf(
    Object.fromEntries(
      modelFailures.map((failure) => [
        failure,
        serviceMetric(alarms, 'modelFailures', { failure }, { period: fiveMinutes }),
      ]),
    ),
    fiveMinutes,
  );
  alarms.add('ModelErrors', {
    summary: 'More than 5 % of the replies fail because of models, after all retries.',
    metric: formula(
      // A few failures are normal: the provider's own rate of errors is some per thousand.
      'IF(failures < 5, 0, 100 * failures / replies)',
      {
        failures,
        // Failed replies of chats count twice: with the failures, which those of batches need, and as replies.
        replies: sumOf(
          {
            failures,
            sends: countOf('send-message'),
            completions: countOf('complete-chat'),
            ofBatches: serviceMetric(alarms, 'batchRequestsDone', {}, { period: fiveMinutes }),
          },
          fiveMinutes,
        ),
      },
      fiveMinutes,
    ),
    threshold: 5,
    periods: [2, 3],
  });
  const firstDelta = (statistic: string) =>
    serviceMetric(alarms, 'timeToFirstDelta', { route: 'send-message' }, { period: fiveMinutes, statistic });
  alarms.add('FirstDeltaSlow', {
    summary: `5 % of the replies start later than after ${firstDeltaSeconds} s; of fewer than ${fewReplies} in five minutes, half of them.`,
    metric: formula(
      `IF(replies < 3, 0, IF(replies < ${fewReplies}, p50, p95))`,
      { replies: firstDelta('SampleCount'), p50: firstDelta('p50'), p95: firstDelta('p95') },
      fiveMinutes,
    ),
    threshold: firstDeltaSeconds * 1000,
    periods: [3, 3],
  });
}
