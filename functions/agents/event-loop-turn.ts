import { setImmediate } from 'node:timers';

/** The loops of one bundle that use `isTurnOver` share this time in a turn, so that other requests hardly wait. */
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
