import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Duration } from 'aws-cdk-lib/core';
import { type Alarms, formula, less, sumOf } from '../alarms.ts';
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
    // SQS reports a value as long as Lambda polls the queue, and none before the stack is deployed. So missing runs count
    // as 0, but not in a new stack before the function's first run.
    metric: sumOf(
      {
        runs: handler.metricInvocations({ period, statistic: 'Sum' }),
        exceptFailed: less('failed', handler.metricErrors({ period, statistic: 'Sum' }), period),
        zero: formula(
          '0 * messages',
          { messages: queue.metricApproximateNumberOfMessagesVisible({ period, statistic: 'Maximum' }) },
          period,
        ),
      },
      period,
    ),
    threshold: 1,
    periods: [3, 4],
    isMinimum: true,
  });
}
