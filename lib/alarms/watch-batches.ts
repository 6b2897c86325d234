import { type Alarms, fiveMinutes, hour, sumOf } from '../alarms.ts';
import type { BatchWorkflow } from '../batch-workflow.ts';
import type { ServiceFunction } from '../service-function.ts';
import { serviceMetric } from '../service-metric.ts';
import { watchSchedule } from './watch-schedule.ts';

export function watchBatches(
  alarms: Alarms,
  { queue, machine }: BatchWorkflow,
  { reconciler, batchTimeoutSeconds }: { reconciler: ServiceFunction; batchTimeoutSeconds: number },
): void {
  const sums = { period: fiveMinutes, statistic: 'Sum' };
  const maxima = { period: fiveMinutes, statistic: 'Maximum' };
  alarms.add('RequestsWait', {
    summary: 'A request of a batch has waited for a worker for a quarter of the batch timeout.',
    // Not the age of the queue's oldest message: a message only offers a slot.
    metric: serviceMetric(alarms, 'oldestRequestWait', {}, maxima),
    threshold: Math.ceil(batchTimeoutSeconds / 4),
  });
  alarms.add('ExecutionsFailed', {
    summary: 'Executions of the batch workflow have failed or timed out.',
    metric: sumOf({ failed: machine.metricFailed(sums), expired: machine.metricTimedOut(sums) }, fiveMinutes),
    threshold: 1,
  });
  alarms.add('BatchesOverdue', {
    summary: 'Batches are still open 15 minutes after they expired.',
    metric: serviceMetric(alarms, 'overdueBatches', {}, maxima),
    threshold: 1,
    periods: [2, 2],
  });
  watchSchedule(alarms, 'ReconcilerSilent', {
    summary:
      'The reconciler, which resumes work that crashes have interrupted, has not run successfully for 15 minutes.',
    handler: reconciler,
    queue,
    period: fiveMinutes,
  });
  alarms.add('WebhooksGivenUp', {
    summary: 'Webhooks were not delivered: every attempt has failed.',
    // A dead receiver may exhaust a webhook every few minutes. With an hour, that is one notification and not many.
    metric: serviceMetric(alarms, 'webhooksExhausted', {}, { period: hour }),
    threshold: 1,
  });
}
