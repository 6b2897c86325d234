/** The memory of a part of the service at one time. */
export interface MemorySample {
  /** Seconds since the start. */
  at: number;
  bytes: number;
}

/** The trend of samples in megabytes and hours: a linear fit by least squares. */
export function trendOf(samples: readonly MemorySample[]) {
  const count = samples.length;
  const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / (count || 1);
  const times = samples.map(({ at }) => at / 3600);
  const sizes = samples.map(({ bytes }) => bytes / 1e6);
  const [time, size] = [mean(times), mean(sizes)];
  const variance = times.reduce((sum, at) => sum + (at - time) ** 2, 0);
  const covariance = times.reduce((sum, at, index) => sum + (at - time) * ((sizes[index] ?? 0) - size), 0);
  const slope = variance === 0 ? 0 : covariance / variance;
  const hours = count === 0 ? 0 : Math.max(...times) - Math.min(...times);
  return {
    samples: count,
    mean: size,
    most: Math.max(0, ...sizes),
    slope,
    /** Growth over the measured time by the slope, as a share of the mean. */
    growth: size === 0 ? 0 : (slope * hours) / size,
  };
}
