/** A table, by whose clock the caller waits. */
export interface Pause {
  pauseUpTo(milliseconds: number): Promise<void>;
}

/**
 * Waits with full jitter: up to 20 ms after the first attempt, doubled for each further attempt, at most 320 ms. That
 * spreads 100 writers of one item over about the time that DynamoDB needs to serve them one after the other.
 */
export const backOff = (table: Pause, attempt: number): Promise<void> =>
  table.pauseUpTo(Math.min(20 * 2 ** (attempt - 1), 320));
