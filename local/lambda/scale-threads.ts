import { availableParallelism } from 'node:os';
import type { LoadGauge } from './load-gauge.ts';

/** What decides whether a waiting call runs, and whether a function gets a new thread. */
export interface PoolLoad {
  readonly threads: number;
  /** Calls that run now. */
  readonly running: number;
  /** Milliseconds for which the oldest call has waited. */
  readonly oldestWait: number;
  /** Milliseconds since a call ended. */
  readonly sinceLastEnd: number;
}

// A new thread is cold: its first calls take ten times as long as a warm thread's, and it occupies memory. So a call
// waits for a warm thread for the time of ten short calls.
const WAIT_MILLISECONDS = 100;

// If the running calls compute, more calls than processors slow each other, so it is better to wait for the next idle
// thread, which is warm. If the running calls wait, such as for a model, more calls can run. A measured load below half
// of the processors means that the running calls wait.
export const MAX_COMPUTING_CALLS = availableParallelism();
const FULL_LOAD = 0.5 * availableParallelism();

// The idle processors that a new thread needs: it computes while it loads, and its first calls take ten times as long.
const PROCESSORS_TO_START = Math.min(1, 0.4 * availableParallelism());

// Calls that compute for long may occupy all threads. If no call has ended for this time, a call that has waited for
// this time gets a new thread in any case. It is twice the time that a cold thread needs for the first ten requests of
// a batch.
const STUCK_MILLISECONDS = 1000;

// Many slow calls may delay a waiting call too much. After this time it runs on an idle thread despite the load, or
// gets a new thread although no processor is idle. Calls of a large batch wait for 1 to 2 s, and more threads would
// slow them.
const MAX_WAIT_MILLISECONDS = 3000;

/** Whether a waiting call can run on an idle thread. */
export function canRunCall(load: PoolLoad, gauge: LoadGauge): boolean {
  return (
    load.running < MAX_COMPUTING_CALLS ||
    gauge.load() < FULL_LOAD ||
    load.oldestWait >= MAX_WAIT_MILLISECONDS ||
    isStuck(load)
  );
}

/** Whether a function without an idle thread gets a new one. */
export function canStartThread(load: PoolLoad, gauge: LoadGauge): boolean {
  if (load.threads === 0 || isStuck(load)) return true;
  if (load.oldestWait >= MAX_WAIT_MILLISECONDS && gauge.load() < FULL_LOAD) return true;
  const hasRoom = load.threads < MAX_COMPUTING_CALLS || gauge.load() < FULL_LOAD;
  return hasRoom && gauge.idleProcessors() >= PROCESSORS_TO_START && load.oldestWait >= WAIT_MILLISECONDS;
}

const isStuck = ({ oldestWait, sinceLastEnd }: PoolLoad): boolean =>
  oldestWait >= STUCK_MILLISECONDS && sinceLastEnd >= STUCK_MILLISECONDS;
