import { cpus } from 'node:os';

// Reading the processors' times takes a third of a millisecond, so they are read at most this often.
const WINDOW_MILLISECONDS = 45;

// The processors' times are averages since the previous reading. An average over more than this time does not show the
// present load.
const STALE_MILLISECONDS = 500;

/**
 * @returns a function that returns the number of processors that were idle since its previous call; 0 if that call was
 *   more than 500 ms ago
 */
export function watchProcessors(): () => number {
  let previous = { at: Number.NEGATIVE_INFINITY, idle: 0 };
  let idleProcessors = 0;
  return () => {
    const at = performance.now();
    const age = at - previous.at;
    if (age < WINDOW_MILLISECONDS) return idleProcessors;
    const times = cpus().map((processor) => processor.times);
    // Processes of low priority give way to this one, so their time counts as idle.
    const idle = times.reduce((sum, { idle: unused, nice }) => sum + unused + nice, 0);
    idleProcessors = age > STALE_MILLISECONDS ? 0 : (idle - previous.idle) / age;
    previous = { at, idle };
    return idleProcessors;
  };
}
