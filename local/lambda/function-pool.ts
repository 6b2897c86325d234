import { availableParallelism } from 'node:os';
import type { FunctionDefinition, ThreadEvents } from './function-definition.ts';
import { createFunctionThread, type FunctionThread } from './function-thread.ts';
import type { InvocationResult, InvokableFunction, ResponseSink } from './invokable-function.ts';

export interface FunctionPool extends InvokableFunction {
  /** Loads one thread before the first invocation. Resolves when the thread is ready. */
  prewarm(): Promise<void>;
  /** Milliseconds since the last call ended; 0 while a call runs or waits, Infinity before the first call. */
  quietMilliseconds(): number;
  threads(): readonly FunctionThread[];
  /** Ends all threads, busy ones too. Returns how many. The next invocation starts a new thread. */
  killThreads(): number;
  close(): Promise<void>;
}

export interface PoolOptions extends Omit<ThreadEvents, 'onGone'> {
  readonly maxConcurrency: number;
  /** Called when an invocation has ended, with the time that it took in its thread. */
  onInvoked(milliseconds: number): void;
}

interface QueuedCall {
  readonly since: number;
  readonly payload: string;
  readonly sink: ResponseSink | undefined;
  readonly resolve: (result: InvocationResult) => void;
}

// AWS usually removes an idle environment after about this time.
const IDLE_MILLISECONDS = 5 * 60_000;

// A new thread is cold: its first calls take ten times as long as a warm thread's, and it occupies memory. So a call
// waits for a warm thread for the time of ten short calls.
const WAIT_MILLISECONDS = 100;

// If the running calls compute, more calls than processors slow each other, so it is better to wait for the next idle
// thread, which is warm. If the running calls wait, such as for a model, more calls can run. Measured load below half of
// the processors means that they wait.
const MAX_COMPUTING_CALLS = availableParallelism();
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

// Each check starts only as many calls as there is room for, so that checks must be frequent. A little longer than the
// window of the load gauge, 25 ms: a timer may fire early, and the gauge would return the previous load.
const CHECK_MILLISECONDS = 27;

// One call predicts the next one poorly. An average over about eight calls adapts soon, for example to another model.
const AVERAGED_CALLS = 8;

const SHUT_DOWN: InvocationResult = {
  succeeded: false,
  errorType: 'Runtime.ExitError',
  errorMessage: 'The run has ended',
};

/**
 * Runs the calls of one function on threads, one call at a time on each. Calls wait in a queue until a thread is idle
 * or the load allows a new thread.
 */
export function createFunctionPool(definition: FunctionDefinition, options: PoolOptions): FunctionPool {
  const threads = new Set<FunctionThread>();
  const idle: { readonly thread: FunctionThread; readonly since: number }[] = [];
  /** The number of calls of each thread. A thread with more calls is faster. */
  const callsOf = new WeakMap<FunctionThread, number>();
  const queue: QueuedCall[] = [];
  /** Threads load one after another, because two that load concurrently slow each other. */
  let isStarting = false;
  let closed = false;
  let check: NodeJS.Timeout | undefined;
  /** The share of their time that the last calls computed, from 0 to 1. */
  let averageUtilization = 1;
  let lastEnd = Number.NEGATIVE_INFINITY;

  async function startThread(): Promise<void> {
    const thread = createFunctionThread(definition, {
      onLine: options.onLine,
      onViolation: options.onViolation,
      onGone() {
        threads.delete(thread);
        const index = idle.findIndex((entry) => entry.thread === thread);
        if (index >= 0) idle.splice(index, 1);
      },
      gauge: options.gauge,
    });
    threads.add(thread);
    isStarting = true;
    const failure = await thread.loaded;
    isStarting = false;
    if (failure) queue.shift()?.resolve(failure);
    else markIdle(thread);
    serveQueue();
  }

  /** Gives waiting calls to idle threads, or starts a thread, if the load allows it. Checks again while calls wait. */
  function serveQueue(): void {
    clearTimeout(check);
    check = undefined;
    while (queue.length > 0 && idle.length > 0 && canRunCall()) {
      const next = queue.shift();
      const thread = takeWarmest();
      if (next && thread) void run(thread, next.payload, next.sink).then(next.resolve);
    }
    if (queue.length === 0 || closed) return;
    const isNeeded = idle.length === 0 && !isStarting && threads.size < options.maxConcurrency;
    if (isNeeded && canStartThread()) void startThread();
    check = setTimeout(serveQueue, CHECK_MILLISECONDS);
  }

  const oldestWait = (): number => performance.now() - (queue[0]?.since ?? Number.POSITIVE_INFINITY);

  const isStuck = (): boolean =>
    oldestWait() >= STUCK_MILLISECONDS && performance.now() - lastEnd >= STUCK_MILLISECONDS;

  function canRunCall(): boolean {
    const running = threads.size - idle.length;
    const isOverdue = oldestWait() >= MAX_WAIT_MILLISECONDS || isStuck();
    return running < MAX_COMPUTING_CALLS || options.gauge.load() < FULL_LOAD || isOverdue;
  }

  function canStartThread(): boolean {
    if (threads.size === 0 || isStuck()) return true;
    if (oldestWait() >= MAX_WAIT_MILLISECONDS && options.gauge.load() < FULL_LOAD) return true;
    const hasRoom = threads.size < MAX_COMPUTING_CALLS || options.gauge.load() < FULL_LOAD;
    return (
      hasRoom && options.gauge.idleProcessors() >= PROCESSORS_TO_START && oldestWait() >= WAIT_MILLISECONDS
    );
  }

  function markIdle(thread: FunctionThread): void {
    if (!threads.has(thread)) return;
    idle.push({ thread, since: Date.now() });
  }

  /** Takes the idle thread with the most calls, so that the other threads stay idle and end. */
  function takeWarmest(): FunctionThread | undefined {
    let warmest = 0;
    for (const [index, { thread }] of idle.entries())
      if (callsTo(thread) > callsTo(idle[warmest]?.thread)) warmest = index;
    return idle.splice(warmest, 1)[0]?.thread;
  }

  const callsTo = (thread: FunctionThread | undefined): number =>
    (thread !== undefined && callsOf.get(thread)) || 0;

  /** Ignores values outside of 0 to 1, which Node returns for a thread that is interrupted while its times are read. */
  function updateAverage(utilization: number): void {
    if (utilization >= 0 && utilization <= 1)
      averageUtilization += (utilization - averageUtilization) / AVERAGED_CALLS;
  }

  async function run(
    thread: FunctionThread,
    payload: string,
    sink?: ResponseSink,
  ): Promise<InvocationResult> {
    callsOf.set(thread, callsTo(thread) + 1);
    if (threads.size - idle.length > MAX_COMPUTING_CALLS) options.gauge.expect(averageUtilization);
    const start = performance.now();
    const before = thread.utilization();
    const result = await thread.invoke(payload, sink);
    lastEnd = performance.now();
    if (result.succeeded) updateAverage(thread.utilization(before).utilization);
    options.onInvoked(lastEnd - start);
    markIdle(thread);
    serveQueue();
    return result;
  }

  const sweep = setInterval(() => {
    const oldest = Date.now() - IDLE_MILLISECONDS;
    for (const { thread } of idle.filter(({ since }) => since < oldest)) void thread.terminate();
  }, IDLE_MILLISECONDS / 5);
  sweep.unref();

  return {
    logicalId: definition.logicalId,
    functionName: definition.functionName,
    functionArn: definition.functionArn,
    qualifiers: definition.qualifiers,
    accessKeyId: definition.accessKeyId,
    timeoutSeconds: definition.timeoutSeconds,
    invoke(payload, sink) {
      if (closed) return Promise.resolve(SHUT_DOWN);
      return new Promise((resolve) => {
        queue.push({ since: performance.now(), payload, sink, resolve });
        serveQueue();
      });
    },
    async prewarm() {
      if (threads.size === 0 && !closed) await startThread();
    },
    quietMilliseconds: () =>
      queue.length > 0 || [...threads].some(({ busy }) => busy) ? 0 : performance.now() - lastEnd,
    threads: () => [...threads],
    killThreads() {
      const running = [...threads];
      for (const thread of running) void thread.terminate();
      return running.length;
    },
    async close() {
      closed = true;
      clearInterval(sweep);
      clearTimeout(check);
      for (const { resolve } of queue.splice(0)) resolve(SHUT_DOWN);
      await Promise.all([...threads].map((thread) => thread.terminate()));
    },
  };
}
