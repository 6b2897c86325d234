import {
  Alarm,
  ComparisonOperator,
  type IMetric,
  MathExpression,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { Topic } from 'aws-cdk-lib/aws-sns';
import { Duration } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { AlarmTopic } from './alarm-topic.ts';
import type { Settings } from './settings.ts';

export const minute = Duration.minutes(1);
export const fiveMinutes = Duration.minutes(5);
export const hour = Duration.hours(1);

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

/**
 * The alarms of a stack and their topic. `lib/alarms` has the rules, a file for each subject. Each alarm notifies the
 * topic, and its description names its part of docs/runbook.md.
 */
export class Alarms extends Construct {
  readonly topic: Topic;

  constructor(scope: Construct, id: string, { alarmEmails }: Settings) {
    super(scope, id);
    this.topic = new AlarmTopic(this, 'Topic', { emails: alarmEmails });
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
}

const kebabCase = (id: string): string =>
  id.replaceAll(/(?!^)[A-Z]/g, (letter) => `-${letter}`).toLowerCase();

type Metrics = Readonly<Record<string, IMetric>>;

/** A formula of metric math. All its metrics get the period. */
export const formula = (expression: string, usingMetrics: Metrics, period: Duration): MathExpression =>
  new MathExpression({ expression, usingMetrics: { ...usingMetrics }, period });

/**
 * The sum of the metrics that have a value in a period: `SUM` of a list has a value as soon as one of them has one. AWS
 * documents neither whether `FILL` fills a metric without any data, nor clearly what `a + b` is if only one has data.
 */
export const sumOf = (metrics: Metrics, period: Duration): MathExpression =>
  formula(`SUM([${Object.keys(metrics).join(', ')}])`, metrics, period);

/** The metric with the other sign, for `sumOf`. */
export const less = (name: string, metric: IMetric, period: Duration): MathExpression =>
  formula(`-1 * ${name}`, { [name]: metric }, period);
