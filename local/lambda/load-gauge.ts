import { cpus } from 'node:os';
import { type EventLoopUtilization, performance } from 'node:perf_hooks';
import type { Worker } from 'node:worker_threads';

// Long enough to detect a thread that has just started to compute, and too short for a caller to notice.
const WINDOW_MILLISECONDS = 25;

/**
 * Measures how busy threads are. A thread that computes counts as 1, a thread that waits for a response as almost 0.
 */
export interface LoadGauge {
  watch(worker: Worker): void;
  forget(worker: Worker): void;
  /** The sum over all threads and the main thread, in the last window of at least 25 ms. */
  load(): number;
  /** Adds the load of a call that starts now. It counts until the measured window includes the call. */
  expect(load: number): void;
  /** The number of processors that were idle since the previous call; 0 if that call was more than 500 ms ago. */
  idleProcessors(): number;
}

// Reading the processors' times takes a third of a millisecond, so they are read at most this often.
const PROCESSOR_WINDOW_MILLISECONDS = 45;

// The processors' times are averages since the previous reading. An average over more than this time does not show the
// present load.
const STALE_MILLISECONDS = 500;

export function createLoadGauge(): LoadGauge {
  const workers = new Map<Worker, EventLoopUtilization>();
  let previousOfMain = performance.eventLoopUtilization();
  let since = performance.now();
  let lastLoad = 0;
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
      if (now - since < WINDOW_MILLISECONDS) return lastLoad;
      const window = now - since;
      since = now;
      const main = performance.eventLoopUtilization();
      lastLoad = performance.eventLoopUtilization(main, previousOfMain).utilization;
      previousOfMain = main;
      for (const [worker, before] of workers) {
        const { eventLoopUtilization } = worker.performance;
        const current = eventLoopUtilization();
        lastLoad += eventLoopUtilization(current, before).utilization;
        workers.set(worker, current);
      }
      // The window contains only a part of the calls that started in it.
      expected = expected.filter(({ at }) => now - at < window);
      for (const { at, load } of expected) lastLoad += load * (1 - (now - at) / window);
      return lastLoad;
    },
    expect(load) {
      lastLoad += load;
      expected.push({ at: performance.now(), load });
    },
    idleProcessors() {
      const at = performance.now();
      const age = at - processors.at;
      if (age < PROCESSOR_WINDOW_MILLISECONDS) return idleProcessors;
      const times = cpus().map((processor) => processor.times);
      // Processes of low priority give way to this one, so their time counts as idle.
      const idle = times.reduce((sum, { idle: unused, nice }) => sum + unused + nice, 0);
      idleProcessors = age > STALE_MILLISECONDS ? 0 : (idle - processors.idle) / age;
      processors = { at, idle };
      return idleProcessors;
    },
  };
}
