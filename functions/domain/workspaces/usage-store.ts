import type { DayOfUsage, Use } from './usage.ts';

export interface UsageStore {
  /**
   * Adds to a day's usage, in one idempotent write: a retry after a lost response does not count twice. A use whose write
   * failed is counted by the next write of the process with the same owner and day.
   */
  add(use: Use, day: string): Promise<void>;
  /**
   * A workspace's usage, by day, key and agent, with an entry for each process that has counted it. Both days, such as
   * `2027-01-31`, are included.
   */
  between(workspaceId: string, from: string, to: string): AsyncIterable<DayOfUsage[]>;
}
