/** Bytes of a part of the service at a time, in seconds since the beginning. */
export interface MemorySample {
  at: number;
  bytes: number;
}

export interface MemoryTrend {
  samples: number;
  /** Megabytes. */
  mean: number;
  most: number;
  /** Megabytes an hour, by least squares. */
  slope: number;
  /** What the slope makes of the mean over the time that was looked at, as a share of it. */
  growth: number;
}

/** The line that fits samples best. */
export function trendOf(samples: readonly MemorySample[]): MemoryTrend {
  const count = samples.length;
  const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / (count || 1);
  const times = samples.map(({ at }) => at / 3600);
  const sizes = samples.map(({ bytes }) => bytes / 1e6);
  const [time, size] = [mean(times), mean(sizes)];
  const spread = times.reduce((sum, at) => sum + (at - time) ** 2, 0);
  const together = times.reduce((sum, at, index) => sum + (at - time) * ((sizes[index] ?? 0) - size), 0);
  const slope = spread === 0 ? 0 : together / spread;
  const hours = count === 0 ? 0 : Math.max(...times) - Math.min(...times);
  return {
    samples: count,
    mean: size,
    most: Math.max(0, ...sizes),
    slope,
    growth: size === 0 ? 0 : (slope * hours) / size,
  };
}
