import { describe, expect, it } from 'vitest';
import { type AlarmState, stateAfter, statesOf } from '#support/cloudwatch/alarm-states.ts';
import { statisticOf } from '#support/cloudwatch/metric-data.ts';
import { parseExpression, readings } from '#support/cloudwatch/metric-math.ts';

const retained = 'retained';

/** `0` is good, `X` bad, `-` missing. */
const valuesOf = (points: string) =>
  points.split(' ').map((point) => ({ 0: 0, X: 1 })[point] as number | undefined);

/** @param expected with missing data that are ignored, and that are not breaching */
function expectStates(needed: number, points: string, expected: readonly string[]): void {
  for (const before of ['ALARM', 'OK', 'INSUFFICIENT_DATA'] as const) {
    const rule = { ComparisonOperator: 'GreaterThanOrEqualToThreshold', EvaluationPeriods: 3, Threshold: 1 };
    const found = ['ignore', 'notBreaching'].map((TreatMissingData) =>
      stateAfter({ ...rule, DatapointsToAlarm: needed, TreatMissingData }, valuesOf(points), before),
    );
    expect(found).toEqual(expected.map((state) => (state === retained ? before : state)));
  }
}

const same = (state: AlarmState) => [state, state];

describe('the state of an alarm, in the examples of AWS', () => {
  it.each([
    ['0 - X - X', same('OK')],
    ['0 - - - -', same('OK')],
    ['- - - - -', [retained, 'OK']],
    ['0 X X - X', same('ALARM')],
    ['- - - - X', [retained, 'OK']],
    ['X - - - -', [retained, 'OK']],
  ])('%s with three of three', (points, expected) => {
    expectStates(3, points, expected);
  });

  it.each([
    ['0 - X - X', same('ALARM')],
    ['0 0 X 0 X', same('ALARM')],
    ['0 - X - -', same('OK')],
    ['- - - - 0', same('OK')],
    ['- - - - X', [retained, 'OK']],
  ])('%s with two of three', (points, expected) => {
    expectStates(2, points, expected);
  });
});

describe('metric math', () => {
  const series = { a: [30, 20, 0, 0], b: [20, undefined, 20, undefined] };
  const resultsOf = (expression: string) =>
    readings.map((reading) =>
      series.a.map(
        (_, index) =>
          parseExpression(expression)((id) => series[id as keyof typeof series][index], reading).value,
      ),
    );

  it('compares as in the examples of AWS, where a missing value is 0', () => {
    expect(resultsOf('a < b')[0]).toEqual([0, 0, 1, 0]);
  });

  it('has two readings of a missing value, but not in a SUM', () => {
    expect(resultsOf('a + b')).toEqual([
      [50, 20, 20, 0],
      [50, undefined, 20, undefined],
    ]);
    for (const result of resultsOf('SUM([b, 0 * b])')) expect(result).toEqual(series.b);
  });

  it.each([
    ['2 * a - 10 / 5', [58, 38, -2, -2]],
    ['100 / a', [100 / 30, 5, undefined, undefined]],
    ['IF(a < 10 OR 20 < a, 1, a)', [1, 20, 1, 1]],
    ['SUM([a, -1 * b])', [10, 20, -20, 0]],
  ])('%s', (expression, expected) => {
    for (const result of resultsOf(expression)) expect(result).toEqual(expected);
  });

  it.each(['SUM(a)', 'FILL(a, 0)', 'a +', 'a b', 'IF(a, 1)'])('does not know %s', (expression) => {
    expect(() => parseExpression(expression)).toThrow('Unknown metric math');
  });
});

describe('an alarm over time', () => {
  const metric = { Namespace: 'n', MetricName: 'm' };
  const rule = { ComparisonOperator: 'LessThanThreshold', EvaluationPeriods: 1, Threshold: 1 };

  it('takes statistics of its periods', () => {
    const data = [1, [{ value: 5, count: 3 }], undefined, 2, undefined, undefined];
    expect(statisticOf(data, 'Sum', 2)).toEqual([16, 2, undefined]);
    expect(statisticOf(data, 'SampleCount', 2)).toEqual([4, 1, undefined]);
    expect(statisticOf(data, 'Maximum', 3)).toEqual([5, 2]);
    const p95With = (count: number) => {
      const good = { value: 1, count: 100 - count };
      return statisticOf([[good, { value: 9, count }]], 'p95', 1);
    };
    expect([5, 6].map(p95With)).toEqual([[1], [9]]);
  });

  it('starts without data, and is evaluated at the end of each period', () => {
    const states = statesOf(
      { ...rule, ...metric, Statistic: 'Sum', Period: 120, TreatMissingData: 'ignore' },
      () => [undefined, undefined, 0, 0, undefined, 1, 0],
      { missingIsZero: false, dynamoDbIsIgnored: false },
    );
    expect(states).toEqual(['INSUFFICIENT_DATA', 'ALARM', 'OK']);
  });

  it('keeps its state without data of DynamoDB, in one reading', () => {
    const alarm = {
      ...{ ...rule, ...metric, Namespace: 'AWS/DynamoDB', Statistic: 'Sum', Period: 60 },
      TreatMissingData: 'notBreaching',
    };
    const data = [0, undefined, undefined, undefined, undefined];
    const states = readings.map((reading) => statesOf(alarm, () => data, reading).at(-1));
    expect(states).toEqual(['OK', 'ALARM']);
  });
});
