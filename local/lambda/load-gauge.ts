import { cpus } from 'node:os';
import { type EventLoopUtilization, performance } from 'node:perf_hooks';
import type { Worker } from 'node:worker_threads';

// Long enough that a thread which has just begun to compute is seen, short against what a caller notices.
const WINDOW_MILLISECONDS = 25;

/** How busy threads are: one that computes counts as 1, one that waits for an answer as next to nothing. */
export interface LoadGauge {
  watch(worker: Worker): void;
  forget(worker: Worker): void;
  /** The sum over all threads and the main one, a moment ago. */
  load(): number;
  /** More is to come than was seen: it counts as long as what is seen is older. */
  expect(load: number): void;
  /** How many of the machine's processors nobody used lately; 0 as long as that is not known. Asked again and again. */
  idleProcessors(): number;
}

// To read the processors' times takes a third of a millisecond.
const PROCESSOR_WINDOW_MILLISECONDS = 45;

// What was idle longer ago says nothing of now.
const STALE_MILLISECONDS = 500;

export function createLoadGauge(): LoadGauge {
  const workers = new Map<Worker, EventLoopUtilization>();
  let ofMain = performance.eventLoopUtilization();
  let since = performance.now();
  let known = 0;
  let expected: { readonly at: number; readonly load: number }[] = [];
  let processors = { at: Number.NEGATIVE_INFINITY, idle: 0 };
  let idleProcessors = 0;

  return {
    watch(worker) {
      workers.set(worker, worker.performance.eventLoopUtilization());
    },
    forget(worker) {
      workers.delete(worker);
    },
    load() {
      const now = performance.now();
      if (now - since < WINDOW_MILLISECONDS) return known;
      const window = now - since;
      since = now;
      const main = performance.eventLoopUtilization();
      known = performance.eventLoopUtilization(main, ofMain).utilization;
      ofMain = main;
      for (const [worker, before] of workers) {
        const { eventLoopUtilization } = worker.performance;
        const current = eventLoopUtilization();
        known += eventLoopUtilization(current, before).utilization;
        workers.set(worker, current);
      }
      // Of what began in this window, it has only seen a part.
      expected = expected.filter(({ at }) => now - at < window);
      for (const { at, load } of expected) known += load * (1 - (now - at) / window);
      return known;
    },
    expect(load) {
      known += load;
      expected.push({ at: performance.now(), load });
    },
    idleProcessors() {
      const at = performance.now();
      const age = at - processors.at;
      if (age < PROCESSOR_WINDOW_MILLISECONDS) return idleProcessors;
      const times = cpus().map((processor) => processor.times);
      // What gives way to everybody else takes nothing from us.
      const idle = times.reduce((sum, { idle: unused, nice }) => sum + unused + nice, 0);
      idleProcessors = age > STALE_MILLISECONDS ? 0 : (idle - processors.idle) / age;
      processors = { at, idle };
      return idleProcessors;
    },
  };
}
