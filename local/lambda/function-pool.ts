import { availableParallelism } from 'node:os';
import type { FunctionDefinition, ThreadEvents } from './function-definition.ts';
import type { FunctionThread } from './function-thread.ts';
import type { InvocationResult, InvokableFunction, ResponseSink } from './invokable-function.ts';
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
  /** The number of processors that are idle now (idle-processors.ts). */
  idleProcessors(): number;
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

// A new thread is cold: its first calls take ten times as long as a warm thread's, and it occupies memory. So a call
// waits for a warm thread for the time of ten short calls.
const WAIT_MILLISECONDS = 100;

// The idle processors that a new thread needs: it computes while it loads, and its first calls take ten times as long.
const PROCESSORS_TO_START = Math.min(1, 0.4 * availableParallelism());

// If no call has ended for this time, a call that has waited for this time gets a new thread in any case: all threads
// may be waiting, on a machine that is busy with other work.
const STUCK_MILLISECONDS = 1000;

const CHECK_MILLISECONDS = 50;

const SHUT_DOWN: InvocationResult = {
  succeeded: false,
  errorType: 'Runtime.ExitError',
  errorMessage: 'The run has ended',
};

/**
 * Runs the calls of one function on threads, one call at a time on each. A call waits in a queue until a thread is
 * idle. If that takes long while a processor is idle, one more thread starts.
 */
export function createFunctionPool(definition: FunctionDefinition, options: PoolOptions): FunctionPool {
  const { idleProcessors, maxConcurrency } = options;
  const threads = createWarmThreads(definition, options);
  const queue: QueuedCall[] = [];
  let closed = false;
  let check: NodeJS.Timeout | undefined;
  let lastEnd = Number.NEGATIVE_INFINITY;

  async function startThread(): Promise<void> {
    const failure = await threads.start();
    if (failure) queue.shift()?.resolve(failure);
    serveQueue();
  }

  /** Gives waiting calls to idle threads, or starts a thread. Checks again while calls wait. */
  function serveQueue(): void {
    clearTimeout(check);
    check = undefined;
    while (queue.length > 0 && threads.idleCount > 0) {
      const next = queue.shift();
      const thread = threads.takeWarmest();
      if (next && thread) void run(thread, next);
    }
    const [oldest] = queue;
    if (oldest === undefined || closed) return;
    if (!threads.isStarting && threads.count < maxConcurrency && needsThread(oldest)) void startThread();
    check = setTimeout(serveQueue, CHECK_MILLISECONDS);
  }

  function needsThread({ since }: QueuedCall): boolean {
    const now = performance.now();
    const wait = now - since;
    if (threads.count === 0) return true;
    if (wait >= STUCK_MILLISECONDS && now - lastEnd >= STUCK_MILLISECONDS) return true;
    // Reads the processors also when the call has not waited long: the reading covers the time since the previous one.
    return idleProcessors() >= PROCESSORS_TO_START && wait >= WAIT_MILLISECONDS;
  }

  async function run(thread: FunctionThread, { payload, sink, resolve }: QueuedCall): Promise<void> {
    const start = performance.now();
    const result = await thread.invoke(payload, sink);
    lastEnd = performance.now();
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
