import { setImmediate } from 'node:timers';

/** All replies together may take this long in a turn of the event loop: other requests of the process hardly wait. */
const turnMilliseconds = 10;

let endsAt: number | undefined;

/** Whether a loop that could go on for long should await the next turn of the event loop. */
export function isTurnOver(): boolean {
  if (endsAt !== undefined) return performance.now() >= endsAt;
  endsAt = performance.now() + turnMilliseconds;
  setImmediate(() => {
    endsAt = undefined;
  });
  return false;
}
