import {
  Alarm,
  ComparisonOperator,
  type IMetric,
  MathExpression,
  Metric,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { Topic } from 'aws-cdk-lib/aws-sns';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Aws, CfnCondition, type CfnResource, Duration, Fn } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { AlarmTopic } from './alarm-topic.ts';
import type { BatchWorkflow } from './batch-workflow.ts';
import type { ChatPurge } from './chat-purge.ts';
import type { RestApi } from './rest-api.ts';
import type { ServiceFunction } from './service-function.ts';
import { serviceMetric } from './service-metric.ts';
import type { Settings } from './settings.ts';
import type { WebServer } from './web-server.ts';

const minute = Duration.minutes(1);
const fiveMinutes = Duration.minutes(5);
const hour = Duration.hours(1);

/** The kinds of failures for which the model is responsible. Not `tooLong`: the client's message causes it. */
const modelFailures = ['throttled', 'unavailable', 'refused', 'failed', 'stalled', 'slow'] as const;

interface Rule {
  /** What the alarm means, in one sentence for the operator. */
  summary: string;
  /** Heading in docs/runbook.md; by default the alarm's id in kebab-case. */
  heading?: string;
  metric: IMetric;
  /** The alarm goes off at or above this value. */
  threshold: number;
  /** The alarm goes off if this many of the evaluated periods are bad; one of one by default. */
  periods?: readonly [bad: number, evaluated: number];
  /**
   * The alarm goes off below the threshold, and missing data does not change its state. For all other alarms, missing
   * data is good.
   */
  isMinimum?: true;
}

/** All alarms. Each notifies the topic, and its description names its part of docs/runbook.md. */
export class Alarms extends Construct {
  readonly topic: Topic;
  private readonly settings: Settings;

  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id);
    this.settings = settings;
    this.topic = new AlarmTopic(this, 'Topic', { emails: settings.alarmEmails });
  }

  /** Responses of the gateway with a 5xx status. They include failures of the authorizer. */
  watchGateway(api: RestApi): Alarm {
    return this.add('GatewayErrors', {
      summary: 'More than 1 % of the requests fail with a 5xx status.',
      metric: new MathExpression({
        // Fewer than three errors a minute are not an outage, even if they are most of the requests.
        expression: 'IF(errors < 3, 0, 100 * errors / requests)',
        usingMetrics: {
          errors: api.metricServerErrors({ period: minute }),
          requests: api.metricRequests({ period: minute }),
        },
        label: '% of requests',
        period: minute,
      }),
      threshold: 1,
      periods: [2, 5],
    });
  }

  /**
   * Crashes and timeouts. Failures that the function handles appear as the gateway's errors or as failed batch items.
   */
  watchFunction(handler: ServiceFunction): Alarm {
    return this.add(`${handler.node.id}Errors`, {
      summary: `The function ${handler.node.id} crashes or times out.`,
      heading: 'function-errors',
      metric: handler.metricErrors({ period: minute, statistic: 'Sum' }),
      threshold: 1,
      // A single failure is no reason for an alarm: the queue, the workflow and clients retry.
      periods: [2, 5],
    });
  }

  /** For a function that runs every hour. */
  watchHourly(handler: ServiceFunction): Alarm {
    return this.add(`${handler.node.id}Errors`, {
      summary: `The hourly function ${handler.node.id} fails.`,
      heading: 'function-errors',
      metric: handler.metricErrors({ period: hour, statistic: 'Sum' }),
      threshold: 1,
      // A single failure is no reason for an alarm: the next run does the work.
      periods: [2, 3],
    });
  }

  /** Watches all functions of the account in this Region, because they share its concurrency. */
  watchConcurrency(): void {
    const ofAccount = (metricName: string, statistic: string) =>
      new Metric({ namespace: 'AWS/Lambda', metricName, statistic, period: minute });
    this.add('FunctionsThrottled', {
      summary: 'Lambda throttles functions of this account: too many run at once.',
      metric: ofAccount('Throttles', 'Sum'),
      threshold: 1,
      periods: [2, 5],
    });
    const { accountConcurrency } = this.settings;
    this.add('ConcurrencyNearItsLimit', {
      summary: `The account uses at least 80 % of its concurrency limit of ${accountConcurrency} executions.`,
      metric: ofAccount('ConcurrentExecutions', 'Maximum'),
      threshold: Math.floor(accountConcurrency * 0.8),
      periods: [3, 5],
    });
  }

  watchTable(table: ITableV2): void {
    const options = { period: fiveMinutes, statistic: 'Sum' };
    const events = (metricName: string) =>
      new Metric({
        namespace: 'AWS/DynamoDB',
        metricName,
        dimensionsMap: { TableName: table.tableName },
        ...options,
      });
    this.add('TableThrottled', {
      summary: 'DynamoDB throttles reads or writes of the table.',
      metric: new MathExpression({
        expression: 'FILL(reads, 0) + FILL(writes, 0)',
        usingMetrics: { reads: events('ReadThrottleEvents'), writes: events('WriteThrottleEvents') },
        label: 'throttled',
        period: fiveMinutes,
      }),
      // The SDK retries throttled calls. From 50 throttled calls in five minutes on, clients notice.
      threshold: 50,
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
      summary: 'DynamoDB responds with internal errors.',
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
      threshold: 10,
    });
  }

  watchBatches({ queue, deadLetters, machine }: BatchWorkflow, reconciler: ServiceFunction): void {
    const options = { period: fiveMinutes, statistic: 'Sum' };
    this.add('RequestsWait', {
      summary: 'The oldest request in the batch queue has waited for a quarter of the batch timeout.',
      metric: queue.metricApproximateAgeOfOldestMessage({ period: fiveMinutes, statistic: 'Maximum' }),
      threshold: Math.ceil(this.settings.batchTimeoutSeconds / 4),
    });
    this.add('DeadLetters', {
      summary: 'Requests have crashed their worker ten times and were abandoned.',
      metric: new MathExpression({
        // The dead-letter handler receives dead letters at once, so received messages count as well as waiting ones.
        expression: 'FILL(received, 0) + FILL(waiting, 0)',
        usingMetrics: {
          received: deadLetters.metricNumberOfMessagesReceived(options),
          waiting: deadLetters.metricApproximateNumberOfMessagesVisible({ ...options, statistic: 'Maximum' }),
        },
        label: 'dead letters',
        period: fiveMinutes,
      }),
      threshold: 1,
    });
    this.add('ExecutionsFailed', {
      summary: 'Executions of the batch workflow have failed or timed out.',
      metric: new MathExpression({
        expression: 'FILL(failed, 0) + FILL(expired, 0)',
        usingMetrics: {
          failed: machine.metricFailed(options),
          expired: machine.metricTimedOut(options),
        },
        label: 'executions',
        period: fiveMinutes,
      }),
      threshold: 1,
    });
    this.add('BatchesOverdue', {
      summary: 'Batches are still open 15 minutes after they expired.',
      metric: serviceMetric(this, 'overdueBatches', {}, { period: fiveMinutes, statistic: 'Maximum' }),
      threshold: 1,
      periods: [2, 2],
    });
    this.watchSchedule('ReconcilerSilent', {
      summary:
        'The reconciler, which resumes work that crashes have interrupted, has not run for 15 minutes.',
      handler: reconciler,
      queue,
      period: fiveMinutes,
    });
    this.add('WebhooksGivenUp', {
      summary: 'Webhooks were not delivered: every attempt has failed.',
      metric: serviceMetric(this, 'webhooksExhausted', {}, { period: fiveMinutes }),
      threshold: 1,
    });
  }

  watchPurges({ deadLetters }: ChatPurge): void {
    this.add('PurgesFailed', {
      summary: 'The data of a deleted chat could not be purged in five attempts.',
      metric: deadLetters.metricApproximateNumberOfMessagesVisible({
        period: fiveMinutes,
        statistic: 'Maximum',
      }),
      threshold: 1,
    });
    this.add('PurgesOverdue', {
      summary: 'The data of deleted chats is not purged an hour after the deletion.',
      metric: serviceMetric(this, 'overduePurges', {}, { period: fiveMinutes, statistic: 'Maximum' }),
      threshold: 1,
      periods: [2, 2],
    });
  }

  watchUnusedChats(handler: ServiceFunction, { queue }: ChatPurge): void {
    this.watchSchedule('RetentionSilent', {
      summary: 'The deletion of unused chats has not run for three hours.',
      handler,
      queue,
      period: hour,
    });
  }

  watchReplies(): void {
    this.add('ModelErrors', {
      summary: 'Replies fail because of models, after all retries.',
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
      threshold: 5,
      periods: [2, 3],
    });
    this.add('FirstDeltaSlow', {
      summary: `5 % of the replies start later than after ${this.settings.firstDeltaSeconds} s.`,
      metric: serviceMetric(
        this,
        'timeToFirstDelta',
        { route: 'send-message' },
        { period: fiveMinutes, statistic: 'p95' },
      ),
      threshold: this.settings.firstDeltaSeconds * 1000,
      periods: [3, 3],
    });
  }

  /** Crashes and timeouts of a web function are responses with 5xx, of Lambda itself. */
  watchWebServers(servers: readonly WebServer[]): void {
    for (const server of servers)
      this.add(`${server.node.id}Errors`, {
        summary: `The web function ${server.node.id} responds with 5xx, or Lambda does in its place.`,
        heading: 'web-function-errors',
        metric: server.metricServerErrors({ period: minute }),
        // As for the gateway: fewer than three errors a minute are not an outage.
        threshold: 3,
        periods: [2, 5],
      });
    // Such requests reach the code of the web functions, because no firewall can protect their endpoints.
    this.add('Strangers', {
      summary:
        'Requests bypass CloudFront or the gateway and reach a web function: without a secret or a signed caller, or with an old one.',
      metric: serviceMetric(this, 'requestsWithoutOriginSecret', {}, { period: fiveMinutes }),
      // A scanner sends some dozens of requests. The server closes their connections unread, so fewer than 100 requests
      // cost almost nothing.
      threshold: 100,
    });
  }

  /**
   * CloudFront reports its metrics to us-east-1 alone, so this alarm exists only there. For a service in another
   * Region, the stack `DistributionAlarms` has the alarm.
   */
  watchDistribution(distributionId: string): void {
    const alarm = this.add('DistributionErrors', {
      summary:
        'CloudFront responds to more than 1 % of the requests with a 5xx status, its own or an origin’s.',
      // The metric of the CDK library would never have a value: it lacks the dimension Region of CloudFront's metric.
      metric: new Metric({
        namespace: 'AWS/CloudFront',
        metricName: '5xxErrorRate',
        dimensionsMap: { DistributionId: distributionId, Region: 'Global' },
        statistic: 'Average',
        period: fiveMinutes,
      }),
      threshold: 1,
      periods: [2, 3],
    });
    const isInMetricsRegion = new CfnCondition(this, 'HearsCloudFront', {
      expression: Fn.conditionEquals(Aws.REGION, 'us-east-1'),
    });
    (alarm.node.defaultChild as CfnResource).cfnOptions.condition = isInMetricsRegion;
  }

  /**
   * Goes off when three of four periods have no run of the function. The fourth one still has a run: without any data,
   * CloudWatch's FILL may do nothing.
   * @param queue one that Lambda polls
   */
  private watchSchedule(
    id: string,
    {
      summary,
      handler,
      queue,
      period,
    }: { summary: string; handler: ServiceFunction; queue: Queue; period: Duration },
  ): void {
    this.add(id, {
      summary,
      metric: new MathExpression({
        // Missing runs count as 0, but only if the queue's metric has a value. Lambda polls the queue, so SQS reports a
        // value as long as the stack works, and none before the stack is deployed. Without this condition the alarm
        // would go off in a new stack before the function's first run.
        expression: 'FILL(runs, 0) + 0 * messages',
        usingMetrics: {
          runs: handler.metricInvocations({ period, statistic: 'Sum' }),
          messages: queue.metricApproximateNumberOfMessagesVisible({ period, statistic: 'Maximum' }),
        },
        label: 'runs',
        period,
      }),
      threshold: 1,
      periods: [3, 4],
      isMinimum: true,
    });
  }

  private add(id: string, { summary, heading, metric, threshold, periods = [1, 1], ...rule }: Rule): Alarm {
    const alarm = new Alarm(this, id, {
      alarmDescription: `${summary} See docs/runbook.md#${heading ?? kebabCase(id)}`,
      metric,
      threshold,
      comparisonOperator: rule.isMinimum
        ? ComparisonOperator.LESS_THAN_THRESHOLD
        : ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      datapointsToAlarm: periods[0],
      evaluationPeriods: periods[1],
      treatMissingData: rule.isMinimum ? TreatMissingData.IGNORE : TreatMissingData.NOT_BREACHING,
    });
    alarm.addAlarmAction(new SnsAction(this.topic));
    return alarm;
  }
}

const kebabCase = (id: string): string =>
  id.replaceAll(/(?!^)[A-Z]/g, (letter) => `-${letter}`).toLowerCase();
