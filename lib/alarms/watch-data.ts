import { type IMetric, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { type Alarms, fiveMinutes, formula, hour, sumOf } from '../alarms.ts';
import type { ChatPurge } from '../chat-purge.ts';
import type { ServiceFunction } from '../service-function.ts';
import { serviceMetric } from '../service-metric.ts';
import { watchSchedule } from './watch-schedule.ts';

/** The most frequent ones: an outage of DynamoDB concerns all operations, and each metric costs money. */
const operations = ['GetItem', 'Query', 'UpdateItem', 'TransactWriteItems'];

export function watchTable(alarms: Alarms, table: ITableV2): void {
  const sums = { period: fiveMinutes, statistic: 'Sum' };
  const events = (metricName: string, dimensions: Record<string, string> = {}) =>
    new Metric({
      namespace: 'AWS/DynamoDB',
      metricName,
      dimensionsMap: { TableName: table.tableName, ...dimensions },
      ...sums,
    });
  // DynamoDB reports throttled calls and errors only while there are any, and by default an alarm on its metrics keeps
  // its state without data. The reconciler reads the table every minute, so this metric always has a value.
  const withZero = (counted: Record<string, IMetric>) =>
    sumOf(
      {
        ...counted,
        zero: formula('0 * consumed', { consumed: events('ConsumedReadCapacityUnits') }, fiveMinutes),
      },
      fiveMinutes,
    );
  alarms.add('TableThrottled', {
    summary: 'DynamoDB throttles reads or writes of the table.',
    metric: withZero({ reads: events('ReadThrottleEvents'), writes: events('WriteThrottleEvents') }),
    // The SDK retries throttled calls. From 50 throttled calls in five minutes on, clients notice.
    threshold: 50,
  });
  alarms.add('TableErrors', {
    summary: 'DynamoDB responds with internal errors.',
    metric: withZero(
      Object.fromEntries(
        operations.map((operation) => [`of${operation}`, events('SystemErrors', { Operation: operation })]),
      ),
    ),
    threshold: 10,
  });
}

/**
 * There is no alarm for the dead letters of purges: they stay in their queue for 14 days, although the reconciler
 * enqueues each purge again until it has ended, and they appear after the hour of this alarm.
 */
export function watchPurges(alarms: Alarms): void {
  alarms.add('PurgesOverdue', {
    summary: 'The data of deleted chats is not purged an hour after the deletion.',
    metric: serviceMetric(alarms, 'overduePurges', {}, { period: fiveMinutes, statistic: 'Maximum' }),
    threshold: 1,
    periods: [2, 2],
  });
}

export function watchUnusedChats(alarms: Alarms, handler: ServiceFunction, { queue }: ChatPurge): void {
  watchSchedule(alarms, 'RetentionSilent', {
    summary: 'The deletion of unused chats has not run successfully for three hours.',
    handler,
    queue,
    period: hour,
  });
}
