import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits a random time that grows with the attempts: up to 20 ms after the first, 320 ms at most, so that a hundred
 * writers of one item spread over about as long as it takes to serve them one by one.
 */
export const backOff = (attempt: number): Promise<void> =>
  sleep(Math.random() * Math.min(20 * 2 ** (attempt - 1), 320));
