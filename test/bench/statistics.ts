export interface Summary {
  median: number;
  min: number;
  max: number;
}

/** @throws RangeError if there are no values: a figure that was not measured must not look like zero */
export function summarize(values: readonly number[]): Summary {
  const sorted = ascending(values);
  return {
    median: valueAt(sorted, 0.5),
    min: valueAt(sorted, 0),
    max: valueAt(sorted, 1),
  };
}

/**
 * The value that a share of all values does not exceed, interpolated linearly between its neighbours.
 * @param share 0 (the least) to 1 (the greatest)
 * @throws RangeError if there are no values
 */
export const percentile = (values: readonly number[], share: number): number =>
  valueAt(ascending(values), share);

/** The percentiles 0 to 100: the shape of a distribution in 101 numbers, however many values it has. */
export function percentiles(values: readonly number[]): number[] {
  const sorted = ascending(values);
  return Array.from({ length: 101 }, (_, index) => valueAt(sorted, index / 100));
}

/**
 * The rate of events in each of the equal parts of a period.
 * @param times of the events, in seconds since the start of the period, at most `seconds`
 * @returns the middle of each part in seconds, and events a second in it
 */
export function ratesOver(
  times: readonly number[],
  seconds: number,
  parts: number,
): { middle: number; rate: number }[] {
  const width = seconds / parts;
  const counts = new Array<number>(parts).fill(0);
  for (const time of times) {
    const part = Math.min(Math.max(Math.floor(time / width), 0), parts - 1);
    counts[part] = (counts[part] ?? 0) + 1;
  }
  return counts.map((count, part) => ({ middle: (part + 0.5) * width, rate: count / width }));
}

function ascending(values: readonly number[]): number[] {
  if (values.length === 0) throw new RangeError('There are no values');
  if (!values.every(Number.isFinite)) throw new RangeError(`Not all are numbers: ${values}`);
  return values.toSorted((one, other) => one - other);
}

function valueAt(sorted: readonly number[], share: number): number {
  const location = (sorted.length - 1) * share;
  const below = sorted[Math.floor(location)] ?? Number.NaN;
  const above = sorted[Math.ceil(location)] ?? Number.NaN;
  return below + (above - below) * (location - Math.floor(location));
}
