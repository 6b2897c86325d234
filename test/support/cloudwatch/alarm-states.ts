import { type MetricData, statisticOf } from './metric-data.ts';
import { parseExpression, type Reading, type Series } from './metric-math.ts';

export type AlarmState = 'ALARM' | 'OK' | 'INSUFFICIENT_DATA';

interface Metric {
  Namespace: string;
  MetricName: string;
  Dimensions?: { Name: string; Value: unknown }[];
}

/** The properties of an AWS::CloudWatch::Alarm that decide its state. */
export interface AlarmProperties extends Partial<Metric> {
  ComparisonOperator: string;
  DatapointsToAlarm?: number;
  EvaluationPeriods: number;
  ExtendedStatistic?: string;
  Metrics?: {
    Id: string;
    Expression?: string;
    MetricStat?: { Metric: Metric; Period: number; Stat: string };
    ReturnData?: boolean;
  }[];
  Period?: number;
  Statistic?: string;
  Threshold: number;
  TreatMissingData?: string;
}

/**
 * How many values CloudWatch retrieves beyond the evaluated ones: two, in AWS's examples of alarms that evaluate three
 * periods ("Configuring how CloudWatch alarms treat missing data").
 */
const retrievedBeyond = 2;

/** An alarm takes at most ten metrics. */
const mostMetrics = 10;

const comparisons: Readonly<Record<string, (value: number, threshold: number) => boolean>> = {
  GreaterThanOrEqualToThreshold: (value, threshold) => value >= threshold,
  LessThanThreshold: (value, threshold) => value < threshold,
};

type Rule = Pick<
  AlarmProperties,
  'ComparisonOperator' | 'DatapointsToAlarm' | 'EvaluationPeriods' | 'Threshold' | 'TreatMissingData'
>;

/**
 * The state of an alarm after an evaluation, as AWS documents it.
 * @param retrieved the values of the evaluation range, the newest last
 * @throws Error for a comparison and a treatment of missing data that no alarm uses
 */
function stateAfter(rule: Rule, retrieved: Series, before: AlarmState): AlarmState {
  const { EvaluationPeriods: evaluated, DatapointsToAlarm: needed = evaluated, TreatMissingData } = rule;
  const isBad = comparisons[rule.ComparisonOperator];
  if (isBad === undefined) throw new Error(`Unknown comparison ${rule.ComparisonOperator}`);
  if (TreatMissingData !== 'ignore' && TreatMissingData !== 'notBreaching')
    throw new Error(`Unknown treatment of missing data ${TreatMissingData}`);
  // Missing values count as rarely as possible: existing ones count first, however old.
  const counted = retrieved
    .flatMap((value) => (value === undefined ? [] : isBad(value, rule.Threshold)))
    .slice(-evaluated);
  if (counted.filter(Boolean).length >= needed) return 'ALARM';
  return counted.includes(false) || TreatMissingData === 'notBreaching' ? 'OK' : before;
}

type DataOf = (metric: Metric) => MetricData;

const retrievedOf = (series: Series, last: number, evaluated: number): Series => {
  const first = last + 1 - evaluated - retrievedBeyond;
  return [
    ...Array.from({ length: Math.max(0, -first) }, () => undefined),
    ...series.slice(Math.max(0, first), last + 1),
  ];
};

/** The state of an alarm at the end of each of its periods. It starts without data. */
export function statesOf(properties: AlarmProperties, dataOf: DataOf, reading: Reading): AlarmState[] {
  const { series, valuesOf, minutes } = queryOf(properties);
  const data = new Map(
    series.map(({ id, metric, statistic }) => [id, statisticOf(dataOf(metric), statistic, minutes)]),
  );
  // `parseExpression` knows only functions of single periods, so what they give does not depend on the range.
  const values = valuesOf((id) => {
    const found = data.get(id);
    if (found === undefined) throw new Error(`Unknown metric ${id}`);
    return found;
  }, reading);
  const isIgnored =
    reading.dynamoDbIsIgnored && series.some(({ metric }) => metric.Namespace === 'AWS/DynamoDB');
  const rule = isIgnored ? { ...properties, TreatMissingData: 'ignore' } : properties;
  let state: AlarmState = 'INSUFFICIENT_DATA';
  return values.map((_, last) => {
    state = stateAfter(rule, retrievedOf(values, last, properties.EvaluationPeriods), state);
    return state;
  });
}

/** The metrics of an alarm, and how their values become those that are compared. */
export function queryOf({ Metrics, ...properties }: AlarmProperties) {
  if (Metrics === undefined) {
    const { Namespace = '', MetricName = '', Dimensions, Statistic, ExtendedStatistic } = properties;
    const metric = { Namespace, MetricName, ...(Dimensions !== undefined && { Dimensions }) };
    const statistic = Statistic ?? ExtendedStatistic ?? '';
    return {
      series: [{ id: 'm', metric, statistic }],
      valuesOf: (scope: (id: string) => Series): Series => scope('m'),
      minutes: (properties.Period ?? 0) / 60,
    };
  }
  const expressions = new Map(
    Metrics.flatMap(({ Id, Expression }) =>
      Expression === undefined ? [] : [[Id, parseExpression(Expression)] as const],
    ),
  );
  const measured = Metrics.flatMap(({ Id, MetricStat }) =>
    MetricStat === undefined
      ? []
      : [{ id: Id, metric: MetricStat.Metric, statistic: MetricStat.Stat, period: MetricStat.Period }],
  );
  const [period, ...others] = new Set(measured.map((each) => each.period));
  if (period === undefined || others.length > 0 || measured.length > mostMetrics)
    throw new Error(`An alarm takes one to ${mostMetrics} metrics of the same period`);
  const [returned] = Metrics.filter(({ ReturnData = true }) => ReturnData);
  const valuesOf = (scope: (id: string) => Series, reading: Reading): Series => {
    const valueAt = (id: string, index: number): number | undefined => {
      const evaluate = expressions.get(id);
      if (evaluate === undefined) return scope(id)[index];
      return evaluate((inner) => valueAt(inner, index), reading).value;
    };
    return scope(measured[0]?.id ?? '').map((_, index) => valueAt(returned?.Id ?? '', index));
  };
  return { series: measured, valuesOf, minutes: period / 60 };
}
