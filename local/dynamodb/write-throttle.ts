import type { TouchedItem } from './touched-items.ts';

// The limit of one partition of a table, in write units a second. AWS's burst and adaptive capacity are not guaranteed,
// so they are not emulated.
const UNITS_PER_SECOND = 1000;

/** A token bucket for every partition key. */
export function createWriteThrottle(now: () => number = () => performance.now()) {
  const partitions = new Map<string, { units: number; at: number }>();

  function levelOf(partition: string) {
    const at = now();
    const previous = partitions.get(partition) ?? { units: UNITS_PER_SECOND, at };
    const units = Math.min(UNITS_PER_SECOND, previous.units + ((at - previous.at) / 1000) * UNITS_PER_SECOND);
    const level = { units, at };
    partitions.set(partition, level);
    return level;
  }

  return {
    /** Takes the write's units. Returns false, and takes none, if the bucket is empty. */
    takeUnits({ partition, units }: TouchedItem): boolean {
      const level = levelOf(partition);
      // As in AWS, a large item may take more units than there are. Later writes then wait longer.
      if (level.units < 1) return false;
      level.units -= units;
      return true;
    },
    /** Takes the difference between consumed and estimated units, when the emulator has returned the consumed units. */
    charge({ partition }: TouchedItem, units: number): void {
      levelOf(partition).units -= units;
    },
  };
}
