import { setImmediate } from 'node:timers';

/** For all replies together: so short that other requests of the process hardly wait. */
const turnMilliseconds = 10;

/** By `performance.now`; undefined if nobody has asked in this turn. */
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
