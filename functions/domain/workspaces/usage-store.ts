import type { DayOfUsage, Use } from './usage.ts';

export interface UsageStore {
  /** Adds to a day's usage, in one write. One that is sent again, since its answer got lost, does not count twice. */
  add(use: Use, day: string): Promise<void>;
  /** A workspace's usage, by day, key and agent. Both days count, `2027-01-31`. */
  between(workspaceId: string, from: string, to: string): AsyncIterable<DayOfUsage[]>;
}
