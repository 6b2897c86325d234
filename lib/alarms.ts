import {
  Alarm,
  ComparisonOperator,
  type IMetric,
  MathExpression,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { CfnOutput, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { ServiceFunction } from './service-function.ts';
import type { Settings } from './settings.ts';

export const minute = Duration.minutes(1);
export const fiveMinutes = Duration.minutes(5);
export const hour = Duration.hours(1);

interface Rule {
  summary: string;
  /** Anchor of a heading in docs/runbook.md; by default the alarm's id in kebab-case. */
  heading?: string;
  metric: IMetric;
  threshold: number;
  periods?: readonly [bad: number, evaluated: number];
  isMinimum?: true;
}

export class Alarms extends Construct {
  private readonly topic: Topic;

  constructor(scope: Construct, id: string, { alarmEmails }: Settings) {
    super(scope, id);
    this.topic = createTopic(this, 'Topic');
    for (const email of alarmEmails) this.topic.addSubscription(new EmailSubscription(email));
    new CfnOutput(Stack.of(this), 'AlarmTopicArn', { value: this.topic.topicArn });
  }

  add(id: string, { summary, heading, metric, threshold, periods = [1, 1], ...rule }: Rule): Alarm {
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

  /** @param rule.queue a queue that Lambda polls all the time */
  addForSchedule(
    id: string,
    rule: { summary: string; handler: ServiceFunction; queue: Queue; period: Duration },
  ): void {
    const { summary, handler, queue, period } = rule;
    const zero = {
      messages: queue.metricApproximateNumberOfMessagesVisible({ period, statistic: 'Maximum' }),
    };
    this.add(id, {
      summary,
      // SQS reports a value while Lambda polls the queue. From then on, missing runs count as 0.
      metric: sumOf(
        {
          runs: handler.metricInvocations({ period, statistic: 'Sum' }),
          exceptFailed: less('failed', handler.metricErrors({ period, statistic: 'Sum' }), period),
          zero: formula('0 * messages', zero, period),
        },
        period,
      ),
      threshold: 1,
      periods: [3, 4],
      isMinimum: true,
    });
  }
}

const cloudWatch = new ServicePrincipal('cloudwatch.amazonaws.com');

/** The topic has its own key, because CloudWatch alarms cannot use AWS's managed key for SNS. */
function createTopic(scope: Construct, id: string): Topic {
  const { partition, region, account, stackName } = Stack.of(scope);
  const key = new Key(scope, `${id}Key`, {
    description: 'Encrypts the notifications of alarms',
    enableKeyRotation: true,
    // No stored data needs the key: SNS deletes a message after its delivery.
    removalPolicy: RemovalPolicy.DESTROY,
    pendingWindow: Duration.days(7),
  });
  key.addToResourcePolicy(
    new PolicyStatement({
      principals: [cloudWatch],
      actions: ['kms:Decrypt', 'kms:GenerateDataKey', 'kms:GenerateDataKeyWithoutPlaintext'],
      // In a key policy, `*` means this key.
      resources: ['*'],
    }),
  );
  const topic = new Topic(scope, id, { displayName: stackName, enforceSSL: true, masterKey: key });
  topic.addToResourcePolicy(
    new PolicyStatement({
      principals: [cloudWatch],
      actions: ['sns:Publish'],
      resources: [topic.topicArn],
      conditions: {
        ArnLike: { 'aws:SourceArn': `arn:${partition}:cloudwatch:${region}:${account}:alarm:*` },
        StringEquals: { 'aws:SourceAccount': account },
      },
    }),
  );
  return topic;
}

const kebabCase = (id: string): string =>
  id.replaceAll(/(?!^)[A-Z]/g, (letter) => `-${letter}`).toLowerCase();

type Metrics = Readonly<Record<string, IMetric>>;

/** `period` replaces the periods of the metrics. */
export const formula = (expression: string, usingMetrics: Metrics, period = fiveMinutes): MathExpression =>
  new MathExpression({ expression, usingMetrics: { ...usingMetrics }, period });

/** `SUM` of a list has a value as soon as one of the metrics has one. */
export const sumOf = (metrics: Metrics, period = fiveMinutes): MathExpression =>
  formula(`SUM([${Object.keys(metrics).join(', ')}])`, metrics, period);

export const less = (name: string, metric: IMetric, period = fiveMinutes): MathExpression =>
  formula(`-1 * ${name}`, { [name]: metric }, period);
