import type { TouchedItem } from './touched-items.ts';

// What one partition of a table takes. AWS adds burst and adaptive capacity when it has some to spare; one may not
// count on either, so neither is here.
const UNITS_A_SECOND = 1000;

/** A token bucket for every partition key. */
export function createWriteThrottle(now: () => number = () => performance.now()) {
  const partitions = new Map<string, { units: number; at: number }>();

  function levelOf(partition: string) {
    const at = now();
    const known = partitions.get(partition) ?? { units: UNITS_A_SECOND, at };
    const units = Math.min(UNITS_A_SECOND, known.units + ((at - known.at) / 1000) * UNITS_A_SECOND);
    const level = { units, at };
    partitions.set(partition, level);
    return level;
  }

  return {
    /** Whether the write fits; if so its units are taken. */
    hasRoomFor({ partition, units }: TouchedItem): boolean {
      const level = levelOf(partition);
      // A large item may overdraw, as it may in AWS: what follows then waits the longer.
      if (level.units < 1) return false;
      level.units -= units;
      return true;
    },
    /** Corrects what was taken once the engine has told the true figure. */
    charge({ partition }: TouchedItem, units: number): void {
      levelOf(partition).units -= units;
    },
  };
}
