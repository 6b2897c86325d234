import type { Series } from './metric-math.ts';

/** What was measured in a minute: one value, or values with how often each was measured. */
export type Datum = number | readonly { readonly value: number; readonly count: number }[];

/** A metric, minute by minute; undefined without data. */
export type MetricData = readonly (Datum | undefined)[];

interface Counted {
  value: number;
  count: number;
}

const total = (values: readonly Counted[]): number =>
  values.reduce((sum, { value, count }) => sum + value * count, 0);
const samples = (values: readonly Counted[]): number => values.reduce((sum, { count }) => sum + count, 0);

const statistics: Readonly<Record<string, (values: readonly Counted[]) => number>> = {
  Sum: total,
  SampleCount: samples,
  Average: (values) => total(values) / samples(values),
  Maximum: (values) => Math.max(...values.map(({ value }) => value)),
};

function percentile(values: readonly Counted[], percent: number): number {
  const sorted = values.toSorted((one, other) => one.value - other.value);
  let left = (samples(values) * percent) / 100;
  for (const { value, count } of sorted) {
    left -= count;
    if (left <= 0) return value;
  }
  return sorted.at(-1)?.value ?? Number.NaN;
}

/**
 * The statistic of each period.
 * @throws Error for an unknown statistic
 */
export function statisticOf(data: MetricData, statistic: string, minutesOfPeriod: number): Series {
  const percent = /^p(\d+(?:\.\d+)?)$/.exec(statistic)?.[1];
  const calculate =
    percent === undefined
      ? statistics[statistic]
      : (values: readonly Counted[]) => percentile(values, Number(percent));
  if (calculate === undefined) throw new Error(`Unknown statistic ${statistic}`);
  return Array.from({ length: Math.floor(data.length / minutesOfPeriod) }, (_, period) => {
    const values = data
      .slice(period * minutesOfPeriod, (period + 1) * minutesOfPeriod)
      .flatMap((datum) => (typeof datum === 'number' ? [{ value: datum, count: 1 }] : (datum ?? [])))
      .filter(({ count }) => count > 0);
    return values.length === 0 ? undefined : calculate(values);
  });
}
