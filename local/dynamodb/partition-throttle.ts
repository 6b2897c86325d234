/** The limits of one partition of a table, in units a second. */
export const UNITS_PER_SECOND = { read: 3000, write: 1000 } as const;

/** Makes a throttle with a token bucket for each partition. It does not emulate AWS's burst and adaptive capacity. */
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
    /** Takes units of a partition. Returns false, and takes none, if its bucket has less than one unit. */
    takeUnits(partition: string, units: number): boolean {
      const level = levelOf(partition);
      // A large item may take more units than there are. Later calls are then throttled for longer.
      if (level.units < 1) return false;
      level.units -= units;
      return true;
    },
    /** Takes the difference between consumed and estimated units, when the emulator has returned the consumed units. */
    charge(partition: string, units: number): void {
      levelOf(partition).units -= units;
    },
  };
}
