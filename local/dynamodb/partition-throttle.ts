/** AWS's limits of one partition. */
export const UNITS_PER_SECOND = { read: 3000, write: 1000 } as const;

/** A token bucket for each partition. AWS's burst and adaptive capacity are not emulated. */
export function createPartitionThrottle(unitsPerSecond: number, now: () => number = () => performance.now()) {
  const partitions = new Map<string, { units: number; at: number }>();

  function levelOf(partition: string) {
    const at = now();
    const previous = partitions.get(partition) ?? { units: unitsPerSecond, at };
    const units = Math.min(unitsPerSecond, previous.units + ((at - previous.at) / 1000) * unitsPerSecond);
    const level = { units, at };
    partitions.set(partition, level);
    return level;
  }

  return {
    takeUnits(partition: string, units: number): boolean {
      const level = levelOf(partition);
      // More units than there are may be taken: later calls are then throttled for longer.
      if (level.units < 1) return false;
      level.units -= units;
      return true;
    },
    /** Takes the difference between consumed and estimated units, which may be negative. */
    charge(partition: string, units: number): void {
      levelOf(partition).units -= units;
    },
  };
}
