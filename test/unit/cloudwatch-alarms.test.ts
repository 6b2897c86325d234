import { describe, expect, it } from 'vitest';
import { type AlarmState, stateAfter, statesOf } from '#support/cloudwatch/alarm-states.ts';
import { statisticOf } from '#support/cloudwatch/metric-data.ts';
import { parseExpression, type Reading, readings } from '#support/cloudwatch/metric-math.ts';
import { seededRandom } from '#support/seeded-random.ts';

const treatments = ['missing', 'ignore', 'breaching', 'notBreaching'] as const;
const retained = 'retained';

/** `0` is good, `X` bad, `-` missing. */
const valuesOf = (points: string) =>
  points.split(' ').map((point) => ({ 0: 0, X: 1 })[point] as number | undefined);

function expectStates(needed: number, points: string, expected: readonly string[]): void {
  for (const before of ['ALARM', 'OK', 'INSUFFICIENT_DATA'] as const) {
    const found = treatments.map((TreatMissingData) =>
      stateAfter(
        {
          ComparisonOperator: 'GreaterThanOrEqualToThreshold',
          DatapointsToAlarm: needed,
          EvaluationPeriods: 3,
          Threshold: 1,
          TreatMissingData,
        },
        valuesOf(points),
        before,
      ),
    );
    expect(found).toEqual(expected.map((state) => (state === retained ? before : state)));
  }
}

const same = (state: AlarmState) => [state, state, state, state];

describe('the state of an alarm, in the examples of AWS', () => {
  it.each([
    ['0 - X - X', same('OK')],
    ['0 - - - -', same('OK')],
    ['- - - - -', ['INSUFFICIENT_DATA', retained, 'ALARM', 'OK']],
    ['0 X X - X', same('ALARM')],
    ['- - - - X', ['INSUFFICIENT_DATA', retained, 'ALARM', 'OK']],
    ['X - - - -', ['ALARM', retained, 'ALARM', 'OK']],
  ])('%s with three of three', (points, expected) => {
    expectStates(3, points, expected);
  });

  it.each([
    ['0 - X - X', same('ALARM')],
    ['0 0 X 0 X', same('ALARM')],
    ['0 - X - -', ['OK', 'OK', 'ALARM', 'OK']],
    ['- - - - 0', ['OK', 'OK', 'ALARM', 'OK']],
    ['- - - - X', ['INSUFFICIENT_DATA', retained, 'ALARM', 'OK']],
  ])('%s with two of three', (points, expected) => {
    expectStates(2, points, expected);
  });

  it('depends on the newest values alone if none is missing', () => {
    const random = seededRandom(4);
    for (let round = 0; round < 500; round += 1) {
      const points = Array.from({ length: 5 }, () => (random() < 0.5 ? 'X' : '0'));
      const bad = points.slice(-3).filter((point) => point === 'X').length;
      for (const needed of [1, 2, 3])
        expectStates(needed, points.join(' '), same(bad >= needed ? 'ALARM' : 'OK'));
    }
  });
});

describe('metric math', () => {
  const series = {
    a: [30, 20, 0, 0],
    b: [20, undefined, 20, undefined],
    none: [undefined, undefined, undefined, undefined],
  };
  const resultsOf = (expression: string) =>
    readings.map((reading) =>
      parseExpression(expression)((id) => series[id as keyof typeof series], reading),
    );

  it('compares as in the examples of AWS, where a missing value is 0', () => {
    expect(resultsOf('a < b')[0]).toEqual([0, 0, 1, 0]);
    expect(resultsOf('a >= 30')[0]).toEqual([1, 0, 0, 0]);
    expect(resultsOf('a > 15 AND b > 15')[0]).toEqual([1, 0, 0, 0]);
  });

  it('has two readings of a missing value, but not in a SUM', () => {
    expect(resultsOf('a + b')).toEqual([
      [50, 20, 20, 0],
      [50, undefined, 20, undefined],
    ]);
    for (const result of resultsOf('SUM([b, none])')) expect(result).toEqual(series.b);
  });

  it.each([
    ['2 * a - 10 / 5', [58, 38, -2, -2]],
    ['-a', [-30, -20, 0, 0]],
    ['100 / a', [100 / 30, 5, undefined, undefined]],
    ['IF(a < 10 OR a == 30, 1, a)', [1, 20, 1, 1]],
    ['SUM([a, -1 * b])', [10, 20, -20, 0]],
  ])('%s', (expression, expected) => {
    for (const result of resultsOf(expression)) expect(result).toEqual(expected);
  });

  it.each([
    'AVG([a, b])',
    'SUM(a)',
    'MAX(a)',
    'FILL(a, 0)',
    'a +',
    'a b',
    'IF(a, 1)',
    'SEARCH("x")',
    'METRICS()',
  ])('does not know %s', (expression) => {
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
    expect(statisticOf(data, 'Average', 2)).toEqual([4, 2, undefined]);
    expect(statisticOf(data, 'Maximum', 3)).toEqual([5, 2]);
    const p95With = (count: number) => {
      const good = { value: 1, count: 100 - count };
      return statisticOf([[good, { value: 9, count }]], 'p95', 1);
    };
    expect([5, 6].map(p95With)).toEqual([[1], [9]]);
    expect(() => statisticOf(data, 'tm99', 2)).toThrow('tm99');
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
      TreatMissingData: 'breaching',
    };
    const data = [1, undefined, undefined, undefined, undefined];
    const states = readings.map((reading) => statesOf(alarm, () => data, reading).at(-1));
    expect(states).toEqual(['ALARM', 'OK']);
  });

  it('takes at most ten metrics, all of one period', () => {
    const of = (periods: readonly number[]) => ({
      ...rule,
      Metrics: [
        { Id: 'e', Expression: 'm0' },
        ...periods.map((Period, index) => ({
          Id: `m${index}`,
          ReturnData: false,
          MetricStat: { Metric: metric, Period, Stat: 'Sum' },
        })),
      ],
    });
    const [reading] = readings as [Reading];
    expect(statesOf(of(Array(10).fill(60)), () => [0], reading)).toEqual(['ALARM']);
    for (const wrong of [Array(11).fill(60), [60, 300], []])
      expect(() => statesOf(of(wrong), () => [0], reading)).toThrow('one to 10 metrics');
  });
});
