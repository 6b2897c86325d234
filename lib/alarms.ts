import {
  Alarm,
  ComparisonOperator,
  type IMetric,
  MathExpression,
  Metric,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { Topic } from 'aws-cdk-lib/aws-sns';
import { Aws, CfnCondition, type CfnResource, Duration, Fn } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { AlarmTopic } from './alarm-topic.ts';
import type { BatchWorkflow } from './batch-workflow.ts';
import type { RestApi } from './rest-api.ts';
import type { ServiceFunction } from './service-function.ts';
import { serviceMetric } from './service-metric.ts';
import type { Settings } from './settings.ts';

const minute = Duration.minutes(1);
const fiveMinutes = Duration.minutes(5);

/** Without `tooLong`, which is up to who writes the message. */
const modelFailures = ['throttled', 'unavailable', 'refused', 'failed', 'stalled', 'slow'] as const;

interface Rule {
  /** What it means, in a sentence for whoever is woken. */
  says: string;
  /** Heading of the runbook; else the alarm's id, hyphenated. */
  heading?: string;
  metric: IMetric;
  /** It goes off at this value and above it. */
  from: number;
  /** How many of how many periods; one of one unless said. */
  periods?: readonly [bad: number, of: number];
  /** It goes off below the threshold, and without data stays as it was. Others are well without data. */
  isFloor?: true;
}

/** What wakes somebody. Each alarm tells a topic, and names its part of docs/runbook.md. */
export class Alarms extends Construct {
  readonly topic: Topic;
  private readonly settings: Settings;

  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id);
    this.settings = settings;
    this.topic = new AlarmTopic(this, 'Topic', { emails: settings.alarmEmails });
  }

  /** The gateway's answers of 500: also the authorizer's failures, which it answers so. */
  watchGateway(api: RestApi): Alarm {
    return this.add('GatewayErrors', {
      says: 'More than one request in a hundred is answered with 500.',
      metric: new MathExpression({
        // Two of three requests at night are no outage.
        expression: 'IF(errors < 3, 0, 100 * errors / requests)',
        usingMetrics: {
          errors: api.metricServerErrors({ period: minute }),
          requests: api.metricRequests({ period: minute }),
        },
        label: '% of requests',
        period: minute,
      }),
      from: 1,
      periods: [2, 5],
    });
  }

  /** Crashes and time-outs. Failures that are answered are the gateway's errors, or the rows' of batches. */
  watchFunction(handler: ServiceFunction): Alarm {
    return this.add(`${handler.node.id}Errors`, {
      says: `The function ${handler.node.id} crashes or runs out of time.`,
      heading: 'function-errors',
      metric: handler.metricErrors({ period: minute, statistic: 'Sum' }),
      from: 1,
      // Queue, workflow and clients try again what failed once.
      periods: [2, 5],
    });
  }

  /** Of all functions of the account in this Region, since they share what may run at once. */
  watchConcurrency(): void {
    const ofAccount = (metricName: string, statistic: string) =>
      new Metric({ namespace: 'AWS/Lambda', metricName, statistic, period: minute });
    this.add('FunctionsThrottled', {
      says: 'Lambda refuses to run functions of this account: too many run at once.',
      metric: ofAccount('Throttles', 'Sum'),
      from: 1,
      periods: [2, 5],
    });
    const { accountConcurrency } = this.settings;
    this.add('ConcurrencyNearItsLimit', {
      says: `Four fifths of the ${accountConcurrency} functions that the account may run at once are running.`,
      metric: ofAccount('ConcurrentExecutions', 'Maximum'),
      from: Math.floor(accountConcurrency * 0.8),
      periods: [3, 5],
    });
  }

  watchTable(table: TableV2): void {
    const options = { period: fiveMinutes, statistic: 'Sum' };
    const events = (metricName: string) =>
      new Metric({
        namespace: 'AWS/DynamoDB',
        metricName,
        dimensionsMap: { TableName: table.tableName },
        ...options,
      });
    this.add('TableThrottled', {
      says: 'DynamoDB throttles reads or writes of the table.',
      metric: new MathExpression({
        expression: 'FILL(reads, 0) + FILL(writes, 0)',
        usingMetrics: { reads: events('ReadThrottleEvents'), writes: events('WriteThrottleEvents') },
        label: 'throttled',
        period: fiveMinutes,
      }),
      // The SDK tries again; so many mean that clients feel it.
      from: 50,
    });
    const operations = [
      'GetItem',
      'BatchGetItem',
      'Query',
      'PutItem',
      'UpdateItem',
      'DeleteItem',
      'BatchWriteItem',
      'TransactWriteItems',
    ];
    const names = operations.map((operation) => operation[0]?.toLowerCase() + operation.slice(1));
    this.add('TableErrors', {
      says: 'DynamoDB answers with errors of its own.',
      metric: new MathExpression({
        expression: names.map((name) => `FILL(${name}, 0)`).join(' + '),
        usingMetrics: Object.fromEntries(
          operations.map((operation, index) => [
            names[index] ?? operation,
            new Metric({
              namespace: 'AWS/DynamoDB',
              metricName: 'SystemErrors',
              dimensionsMap: { TableName: table.tableName, Operation: operation },
              ...options,
            }),
          ]),
        ),
        label: 'errors of DynamoDB',
        period: fiveMinutes,
      }),
      from: 10,
    });
  }

  watchBatches({ queue, deadLetters, machine }: BatchWorkflow, reconciler: ServiceFunction): void {
    const options = { period: fiveMinutes, statistic: 'Sum' };
    this.add('RequestsWait', {
      says: 'The oldest request of the batch queue has waited for a quarter of the time that a batch has.',
      metric: queue.metricApproximateAgeOfOldestMessage({ period: fiveMinutes, statistic: 'Maximum' }),
      from: Math.ceil(this.settings.batchTimeoutSeconds / 4),
    });
    this.add('DeadLetters', {
      says: 'Requests have killed their worker ten times and were given up.',
      metric: new MathExpression({
        // A function takes them away at once: those it has been given count too.
        expression: 'FILL(received, 0) + FILL(waiting, 0)',
        usingMetrics: {
          received: deadLetters.metricNumberOfMessagesReceived(options),
          waiting: deadLetters.metricApproximateNumberOfMessagesVisible({ ...options, statistic: 'Maximum' }),
        },
        label: 'dead letters',
        period: fiveMinutes,
      }),
      from: 1,
    });
    this.add('ExecutionsFailed', {
      says: 'Executions of the batch workflow have failed, or ran out of time.',
      metric: new MathExpression({
        expression: 'FILL(failed, 0) + FILL(expired, 0)',
        usingMetrics: {
          failed: machine.metricFailed(options),
          expired: machine.metricTimedOut(options),
        },
        label: 'executions',
        period: fiveMinutes,
      }),
      from: 1,
    });
    this.add('BatchesOverdue', {
      says: 'Batches are still open a quarter of an hour after their time was up.',
      metric: serviceMetric(this, 'overdueBatches', {}, { period: fiveMinutes, statistic: 'Maximum' }),
      from: 1,
      periods: [2, 2],
    });
    this.add('ReconcilerSilent', {
      says: 'The reconciler, which takes up what crashes leave lying, has not run for a quarter of an hour.',
      metric: new MathExpression({
        // Runs that are missing count as none, but only where the queue has a value: Lambda polls it, so SQS has one as
        // long as the stack works, and none before it is deployed. Missing runs alone would be an alarm at once in a new
        // stack, whose reconciler has not had its first.
        expression: 'FILL(runs, 0) + 0 * messages',
        usingMetrics: {
          runs: reconciler.metricInvocations(options),
          messages: queue.metricApproximateNumberOfMessagesVisible({ ...options, statistic: 'Maximum' }),
        },
        label: 'runs',
        period: fiveMinutes,
      }),
      from: 1,
      // The fourth has the last run, without which FILL may have nothing to fill.
      periods: [3, 4],
      isFloor: true,
    });
    this.add('WebhooksGivenUp', {
      says: 'Webhooks were not delivered by the last attempt.',
      metric: serviceMetric(this, 'webhooksExhausted', {}, { period: fiveMinutes }),
      from: 1,
    });
  }

  watchReplies(): void {
    this.add('ModelErrors', {
      says: 'Replies end in failures of models, after all retries.',
      metric: new MathExpression({
        expression: modelFailures.map((failure) => `FILL(${failure}, 0)`).join(' + '),
        usingMetrics: Object.fromEntries(
          modelFailures.map((failure) => [
            failure,
            serviceMetric(this, 'modelFailures', { failure }, { period: fiveMinutes }),
          ]),
        ),
        label: 'failed replies',
        period: fiveMinutes,
      }),
      from: 5,
      periods: [2, 3],
    });
    this.add('FirstDeltaSlow', {
      says: `Five replies of a hundred begin later than after ${this.settings.firstDeltaSeconds} s.`,
      metric: serviceMetric(
        this,
        'timeToFirstDelta',
        { route: 'send-message' },
        { period: fiveMinutes, statistic: 'p95' },
      ),
      from: this.settings.firstDeltaSeconds * 1000,
      periods: [3, 3],
    });
  }

  /** No firewall stands before the endpoint of a web function: what comes past the distribution reaches the code. */
  watchUploads(): void {
    this.add('Strangers', {
      says: 'Requests reach the upload endpoint past CloudFront: without its secret, or with an old one.',
      metric: serviceMetric(this, 'requestsWithoutOriginSecret', {}, { period: fiveMinutes }),
      // A scanner that comes by sends some dozens. Each is closed unread, so fewer cost next to nothing.
      from: 100,
    });
  }

  /** CloudFront reports its metrics to one Region alone: elsewhere there is no such alarm, but in `DistributionAlarms`. */
  watchDistribution(distributionId: string): void {
    const alarm = this.add('DistributionErrors', {
      says: 'CloudFront answers more than one request in a hundred with an error, its own or an origin’s.',
      // The library's metric lacks the Region that CloudFront reports it under, and would never have a value.
      metric: new Metric({
        namespace: 'AWS/CloudFront',
        metricName: '5xxErrorRate',
        dimensionsMap: { DistributionId: distributionId, Region: 'Global' },
        statistic: 'Average',
        period: fiveMinutes,
      }),
      from: 1,
      periods: [2, 3],
    });
    const isThere = new CfnCondition(this, 'HearsCloudFront', {
      expression: Fn.conditionEquals(Aws.REGION, 'us-east-1'),
    });
    (alarm.node.defaultChild as CfnResource).cfnOptions.condition = isThere;
  }

  private add(id: string, { says, heading, metric, from, periods = [1, 1], ...rule }: Rule): Alarm {
    const alarm = new Alarm(this, id, {
      alarmDescription: `${says} See docs/runbook.md#${heading ?? hyphenated(id)}`,
      metric,
      threshold: from,
      comparisonOperator: rule.isFloor
        ? ComparisonOperator.LESS_THAN_THRESHOLD
        : ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      datapointsToAlarm: periods[0],
      evaluationPeriods: periods[1],
      treatMissingData: rule.isFloor ? TreatMissingData.IGNORE : TreatMissingData.NOT_BREACHING,
    });
    alarm.addAlarmAction(new SnsAction(this.topic));
    return alarm;
  }
}

const hyphenated = (id: string): string =>
  id.replaceAll(/(?!^)[A-Z]/g, (letter) => `-${letter}`).toLowerCase();
