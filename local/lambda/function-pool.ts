import type { FunctionDefinition, ThreadEvents } from './function-definition.ts';
import type { FunctionThread } from './function-thread.ts';
import type { InvocationResult, ResponseSink } from './invokable-function.ts';
import { createWarmThreads } from './warm-threads.ts';

export interface PoolOptions extends Omit<ThreadEvents, 'onGone'> {
  readonly maxConcurrency: number;
  /** Called when an invocation has ended, with the time that it took in its thread. */
  onInvoked(milliseconds: number): void;
}

interface QueuedCall {
  readonly payload: string;
  readonly sink: ResponseSink | undefined;
  readonly resolve: (result: InvocationResult) => void;
}

const SHUT_DOWN: InvocationResult = {
  succeeded: false,
  errorType: 'Runtime.ExitError',
  errorMessage: 'The run has ended',
};

/**
 * Runs the calls of one function on threads, one call at a time on each. If no thread is idle, a call starts one and
 * runs on the first that is idle: on the new one, or on one whose call has ended meanwhile. One thread at a time loads,
 * because two that load concurrently slow each other.
 *
 * `maxConcurrency` is the only limit. A lower limit, such as the number of processors, would block calls behind others
 * that only wait: a streamed reply, a worker of a batch and a webhook occupy their threads for seconds or minutes
 * without computing.
 */
export function createFunctionPool(definition: FunctionDefinition, options: PoolOptions) {
  const { logicalId, functionName, functionArn, qualifiers, accessKeyId, timeoutSeconds } = definition;
  const threads = createWarmThreads(definition, options);
  const queue: QueuedCall[] = [];
  let closed = false;

  async function startThread(): Promise<void> {
    const failure = await threads.start();
    if (failure) queue.shift()?.resolve(failure);
    serveQueue();
  }

  /** Gives waiting calls to idle threads, and starts a thread if calls still wait. */
  function serveQueue(): void {
    while (queue.length > 0 && threads.idleCount > 0) {
      const next = queue.shift();
      const thread = threads.takeWarmest();
      if (next && thread) void run(thread, next);
    }
    if (queue.length > 0 && !threads.isStarting && threads.count < options.maxConcurrency) void startThread();
  }

  async function run(thread: FunctionThread, { payload, sink, resolve }: QueuedCall): Promise<void> {
    const start = performance.now();
    const result = await thread.invoke(payload, sink);
    options.onInvoked(performance.now() - start);
    threads.release(thread);
    serveQueue();
    resolve(result);
  }

  return {
    logicalId,
    functionName,
    functionArn,
    qualifiers,
    accessKeyId,
    timeoutSeconds,
    invoke(payload: string, sink?: ResponseSink): Promise<InvocationResult> {
      if (closed) return Promise.resolve(SHUT_DOWN);
      return new Promise((resolve) => {
        queue.push({ payload, sink, resolve });
        serveQueue();
      });
    },
    /** Loads one thread before the first invocation. Resolves when the thread is ready. */
    async prewarm(): Promise<void> {
      if (threads.count === 0 && !closed) await startThread();
    },
    endIdleThreads: threads.endIdle,
    threads: threads.all,
    /** Ends all threads, busy ones too. Returns how many. The next invocation starts a new thread. */
    killThreads: threads.kill,
    async close(): Promise<void> {
      closed = true;
      for (const { resolve } of queue.splice(0)) resolve(SHUT_DOWN);
      await threads.close();
    },
  };
}

export type FunctionPool = ReturnType<typeof createFunctionPool>;
