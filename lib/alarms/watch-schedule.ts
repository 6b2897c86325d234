import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Duration } from 'aws-cdk-lib/core';
import { type Alarms, formula } from '../alarms.ts';
import type { ServiceFunction } from '../service-function.ts';

/**
 * Goes off when three of four periods have no successful run of the function.
 * @param queue one that Lambda polls
 */
export function watchSchedule(
  alarms: Alarms,
  id: string,
  {
    summary,
    handler,
    queue,
    period,
  }: { summary: string; handler: ServiceFunction; queue: Queue; period: Duration },
): void {
  alarms.add(id, {
    summary,
    metric: formula(
      // Missing runs count as 0, but only if the queue's metric has a value. Lambda polls the queue, so SQS reports a
      // value as long as the stack works, and none before the stack is deployed. Without this condition the alarm would
      // go off in a new stack before the function's first run. Lambda reports errors, of which there may be none, with
      // each run. The range always has a period with a run when the alarm goes off, because FILL may do nothing for a
      // metric without any data.
      'FILL(runs - errors, 0) + 0 * messages',
      {
        runs: handler.metricInvocations({ period, statistic: 'Sum' }),
        errors: handler.metricErrors({ period, statistic: 'Sum' }),
        messages: queue.metricApproximateNumberOfMessagesVisible({ period, statistic: 'Maximum' }),
      },
      period,
    ),
    threshold: 1,
    periods: [3, 4],
    isMinimum: true,
  });
}
