import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits with full jitter: up to 20 ms after the first attempt, doubled for each further attempt, at most 320 ms. That
 * spreads 100 writers of one item over about the time that DynamoDB needs to serve them one after the other.
 */
export const backOff = (attempt: number): Promise<void> =>
  sleep(Math.random() * Math.min(20 * 2 ** (attempt - 1), 320));
