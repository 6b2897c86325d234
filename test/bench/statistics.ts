/**
 * The value that a share of all values does not exceed, interpolated linearly between its neighbours.
 * @param share 0 (the least) to 1 (the greatest)
 * @throws RangeError if there are no values: a figure that was not measured must not look like zero
 */
export function percentile(values: readonly number[], share: number): number {
  if (values.length === 0 || !values.every(Number.isFinite))
    throw new RangeError(`These are not numbers: [${values}]`);
  const sorted = values.toSorted((one, other) => one - other);
  const location = (sorted.length - 1) * share;
  const below = sorted[Math.floor(location)] ?? Number.NaN;
  const above = sorted[Math.ceil(location)] ?? Number.NaN;
  return below + (above - below) * (location - Math.floor(location));
}

export const median = (values: readonly number[]): number => percentile(values, 0.5);

/** The 50th, 95th and 99th percentiles, rounded to integers. */
export const percentiles = (values: readonly number[]): Record<string, number> =>
  Object.fromEntries([50, 95, 99].map((rank) => [`p${rank}`, Math.round(percentile(values, rank / 100))]));

export const sumOf = <Each>(all: readonly Each[], value: (one: Each) => number): number =>
  all.reduce((sum, one) => sum + value(one), 0);
