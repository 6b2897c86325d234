import type { FunctionDefinition, ThreadEvents } from './function-definition.ts';
import type { FunctionThread } from './function-thread.ts';
import type { InvocationResult, InvokableFunction, ResponseSink } from './invokable-function.ts';
import { canRunCall, canStartThread, MAX_COMPUTING_CALLS, type PoolLoad } from './scale-threads.ts';
import { createWarmThreads } from './warm-threads.ts';

export interface FunctionPool extends InvokableFunction {
  /** Loads one thread before the first invocation. Resolves when the thread is ready. */
  prewarm(): Promise<void>;
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
  const { gauge, maxConcurrency } = options;
  const threads = createWarmThreads(definition, options);
  const utilization = createUtilizationAverage();
  const queue: QueuedCall[] = [];
  let closed = false;
  let check: NodeJS.Timeout | undefined;
  let lastEnd = Number.NEGATIVE_INFINITY;

  async function startThread(): Promise<void> {
    const failure = await threads.start();
    if (failure) queue.shift()?.resolve(failure);
    serveQueue();
  }

  /** Gives waiting calls to idle threads, or starts a thread, if the load allows it. Checks again while calls wait. */
  function serveQueue(): void {
    clearTimeout(check);
    check = undefined;
    while (queue.length > 0 && threads.idleCount > 0 && canRunCall(currentLoad(), gauge)) {
      const next = queue.shift();
      const thread = threads.takeWarmest();
      if (next && thread) void run(thread, next);
    }
    if (queue.length === 0 || closed) return;
    const isNeeded = threads.idleCount === 0 && !threads.isStarting && threads.count < maxConcurrency;
    if (isNeeded && canStartThread(currentLoad(), gauge)) void startThread();
    check = setTimeout(serveQueue, CHECK_MILLISECONDS);
  }

  function currentLoad(): PoolLoad {
    const now = performance.now();
    return {
      threads: threads.count,
      running: threads.count - threads.idleCount,
      oldestWait: now - (queue[0]?.since ?? Number.POSITIVE_INFINITY),
      sinceLastEnd: now - lastEnd,
    };
  }

  async function run(thread: FunctionThread, { payload, sink, resolve }: QueuedCall): Promise<void> {
    if (threads.count - threads.idleCount > MAX_COMPUTING_CALLS) gauge.expect(utilization.average());
    const start = performance.now();
    const before = thread.utilization();
    const result = await thread.invoke(payload, sink);
    lastEnd = performance.now();
    if (result.succeeded) utilization.add(thread.utilization(before).utilization);
    options.onInvoked(lastEnd - start);
    threads.release(thread);
    serveQueue();
    resolve(result);
  }

  return {
    ...describeFunction(definition),
    invoke(payload, sink) {
      if (closed) return Promise.resolve(SHUT_DOWN);
      return new Promise((resolve) => {
        queue.push({ since: performance.now(), payload, sink, resolve });
        serveQueue();
      });
    },
    async prewarm() {
      if (threads.count === 0 && !closed) await startThread();
    },
    threads: threads.all,
    killThreads: threads.kill,
    async close() {
      closed = true;
      clearTimeout(check);
      for (const { resolve } of queue.splice(0)) resolve(SHUT_DOWN);
      await threads.close();
    },
  };
}

function describeFunction(definition: FunctionDefinition): Omit<InvokableFunction, 'invoke'> {
  const { logicalId, functionName, functionArn, qualifiers, accessKeyId, timeoutSeconds } = definition;
  return { logicalId, functionName, functionArn, qualifiers, accessKeyId, timeoutSeconds };
}

/** The share of their time that the last calls computed, from 0 to 1. */
function createUtilizationAverage() {
  let average = 1;
  return {
    average: () => average,
    /** Ignores values outside of 0 to 1: Node returns them if the thread is interrupted while its times are read. */
    add(utilization: number): void {
      if (utilization >= 0 && utilization <= 1) average += (utilization - average) / AVERAGED_CALLS;
    },
  };
}
