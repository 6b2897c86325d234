import { availableParallelism } from 'node:os';
import type { FunctionDefinition, ThreadEvents } from './function-definition.ts';
import { createFunctionThread, type FunctionThread } from './function-thread.ts';
import type { InvocationResult, InvokableFunction, ResponseSink } from './invokable-function.ts';

export interface FunctionPool extends InvokableFunction {
  /** Loads one thread ahead of the first invocation, and resolves when it is ready. */
  prewarm(): Promise<void>;
  /** How long nobody has called: 0 during a call, endless before the first. */
  quietMilliseconds(): number;
  threads(): readonly FunctionThread[];
  /** Ends all threads, busy ones too, and tells how many; the next invocation starts a new one. */
  killThreads(): number;
  close(): Promise<void>;
}

export interface PoolOptions extends Omit<ThreadEvents, 'onGone'> {
  readonly maxConcurrency: number;
  /** An invocation has ended, after so long in its thread. */
  onInvoked(milliseconds: number): void;
}

interface Waiting {
  readonly since: number;
  readonly payload: string;
  readonly sink: ResponseSink | undefined;
  readonly resolve: (result: InvocationResult) => void;
}

// As long as AWS usually keeps an idle environment warm.
const IDLE_MILLISECONDS = 5 * 60_000;

// A thread that is started begins cold: its first calls cost ten times a warm one's, and it keeps its memory. So a call
// waits for a warm thread as long as ten short calls take.
const WAIT_MILLISECONDS = 100;

// More calls at once than this, when threads compute, would only take from each other, and the next thread to be free is a
// warm one. When they wait, such as for a model, there is room.
const CALLS_WITH_LOAD = availableParallelism();
const FULL_LOAD = 0.5 * availableParallelism();

// A thread that starts computes for a while, and its first calls take ten times as long.
const PROCESSORS_TO_START = Math.min(1, 0.4 * availableParallelism());

// Calls that compute for long may hold all threads: where none has ended for so long, one that waits gets a thread all the
// same. The first ten requests of a batch take half of it on a cold thread.
const LONG_WAIT_MILLISECONDS = 1000;

// As long as calls end, each has its turn, but slow ones may be so many that it is late. Calls of a large batch wait for
// one to two seconds, and would be slower on more threads.
const LONGEST_WAIT_MILLISECONDS = 3000;

// Short enough that calls which only wait soon all run, though no more are begun at a look than there is room for. A little
// longer than the load is known for, since a timer may be early.
const CHECK_MILLISECONDS = 27;

// What one call did says little of the next; what eight did is soon forgotten when another model is asked.
const CALLS_REMEMBERED = 8;

const SHUT_DOWN: InvocationResult = {
  succeeded: false,
  errorType: 'Runtime.ExitError',
  errorMessage: 'The run has ended',
};

/** The threads of one function: one invocation a thread, more threads as calls overlap, then a queue. */
export function createFunctionPool(definition: FunctionDefinition, options: PoolOptions): FunctionPool {
  const threads = new Set<FunctionThread>();
  const idle: { readonly thread: FunctionThread; readonly since: number }[] = [];
  /** By thread, how many calls it has had: the more, the faster it is. */
  const callsOf = new WeakMap<FunctionThread, number>();
  const queue: Waiting[] = [];
  /** Two that load at once would but slow each other. */
  let isStarting = false;
  let closed = false;
  let check: NodeJS.Timeout | undefined;
  /** How much of their time the last calls computed. */
  let computing = 1;
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
    else release(thread);
    serveQueue();
  }

  /** Gives waiting calls to idle threads, or starts a thread, as far as there is room; and looks again while calls wait. */
  function serveQueue(): void {
    clearTimeout(check);
    check = undefined;
    while (queue.length > 0 && idle.length > 0 && isWorthRunning()) {
      const next = queue.shift();
      const thread = takeWarmest();
      if (next && thread) void run(thread, next.payload, next.sink).then(next.resolve);
    }
    if (queue.length === 0 || closed) return;
    const isNeeded = idle.length === 0 && !isStarting && threads.size < options.maxConcurrency;
    if (isNeeded && isWorthAThread()) void startThread();
    check = setTimeout(serveQueue, CHECK_MILLISECONDS);
  }

  const waited = (): number => performance.now() - (queue[0]?.since ?? Number.POSITIVE_INFINITY);

  const isStuck = (): boolean =>
    waited() >= LONG_WAIT_MILLISECONDS && performance.now() - lastEnd >= LONG_WAIT_MILLISECONDS;

  function isWorthRunning(): boolean {
    const running = threads.size - idle.length;
    const isDue = waited() >= LONGEST_WAIT_MILLISECONDS || isStuck();
    return running < CALLS_WITH_LOAD || options.gauge.load() < FULL_LOAD || isDue;
  }

  function isWorthAThread(): boolean {
    if (threads.size === 0 || isStuck()) return true;
    if (waited() >= LONGEST_WAIT_MILLISECONDS && options.gauge.load() < FULL_LOAD) return true;
    const hasRoom = threads.size < CALLS_WITH_LOAD || options.gauge.load() < FULL_LOAD;
    return hasRoom && options.gauge.idleProcessors() >= PROCESSORS_TO_START && waited() >= WAIT_MILLISECONDS;
  }

  function release(thread: FunctionThread): void {
    if (!threads.has(thread)) return;
    idle.push({ thread, since: Date.now() });
  }

  /** The one with the most calls behind it; the others can grow idle and end. */
  function takeWarmest(): FunctionThread | undefined {
    let warmest = 0;
    for (const [index, { thread }] of idle.entries())
      if (callsTo(thread) > callsTo(idle[warmest]?.thread)) warmest = index;
    return idle.splice(warmest, 1)[0]?.thread;
  }

  const callsTo = (thread: FunctionThread | undefined): number =>
    (thread !== undefined && callsOf.get(thread)) || 0;

  /** A thread that is interrupted while its times are read tells nonsense. */
  function learn(utilization: number): void {
    if (utilization >= 0 && utilization <= 1) computing += (utilization - computing) / CALLS_REMEMBERED;
  }

  async function run(
    thread: FunctionThread,
    payload: string,
    sink?: ResponseSink,
  ): Promise<InvocationResult> {
    callsOf.set(thread, callsTo(thread) + 1);
    if (threads.size - idle.length > CALLS_WITH_LOAD) options.gauge.expect(computing);
    const start = performance.now();
    const before = thread.utilization();
    const result = await thread.invoke(payload, sink);
    lastEnd = performance.now();
    if (result.succeeded) learn(thread.utilization(before).utilization);
    options.onInvoked(lastEnd - start);
    release(thread);
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
