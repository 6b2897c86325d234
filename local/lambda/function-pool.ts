import type { FunctionDefinition, ThreadEvents } from './function-definition.ts';
import { FunctionThread } from './function-thread.ts';
import type { InvocationResult, ResponseSink } from './invokable-function.ts';

interface PoolOptions extends ThreadEvents {
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

/** How long a thread may be idle before it is ended. */
export const IDLE_MILLISECONDS = 5 * 60_000;

/**
 * Runs the calls of one function on threads, one call at a time on each. If no thread is idle, a call waits for the
 * first that is: a new one, or one whose call has ended meanwhile. One thread at a time loads, because two that load
 * concurrently slow each other. A thread that is idle for five to six minutes ends.
 *
 * `maxConcurrency` may be larger than the number of processors: calls such as a streamed reply, a worker of a batch or
 * a webhook occupy their threads for seconds or minutes, and mostly wait.
 */
export function createFunctionPool(definition: FunctionDefinition, options: PoolOptions) {
  const threads = new Set<FunctionThread>();
  /** When each idle thread became idle. */
  const idle = new Map<FunctionThread, number>();
  const queue: QueuedCall[] = [];
  let isLoading = false;
  let closed = false;

  async function startThread(): Promise<void> {
    const onGone = () => {
      threads.delete(thread);
      idle.delete(thread);
    };
    const thread = new FunctionThread(definition, options, onGone);
    threads.add(thread);
    isLoading = true;
    const failure = await thread.loaded;
    isLoading = false;
    if (failure) queue.shift()?.resolve(failure);
    else release(thread);
    serveQueue();
  }

  function release(thread: FunctionThread): void {
    if (threads.has(thread)) idle.set(thread, Date.now());
  }

  /** Gives waiting calls to idle threads. If calls still wait, it may start a thread. */
  function serveQueue(): void {
    while (queue.length > 0 && idle.size > 0) {
      // A thread that has run more calls is usually faster, and the other threads may stay idle and end.
      const [warmest] = [...idle.keys()].toSorted((one, other) => other.calls - one.calls);
      const next = queue.shift();
      if (next && warmest) void run(warmest, next);
    }
    if (queue.length > 0 && !isLoading && threads.size < options.maxConcurrency) void startThread();
  }

  async function run(thread: FunctionThread, { payload, sink, resolve }: QueuedCall): Promise<void> {
    idle.delete(thread);
    const start = performance.now();
    const result = await thread.invoke(payload, sink);
    options.onInvoked(performance.now() - start);
    release(thread);
    serveQueue();
    resolve(result);
  }

  function endIdleSince(time: number): void {
    for (const [thread, since] of idle) if (since <= time) void thread.terminate();
  }

  const sweep = setInterval(() => endIdleSince(Date.now() - IDLE_MILLISECONDS), IDLE_MILLISECONDS / 5);
  sweep.unref();

  return {
    ...definition,

    invoke(payload: string, sink?: ResponseSink): Promise<InvocationResult> {
      if (closed) return Promise.resolve(SHUT_DOWN);
      return new Promise((resolve) => {
        queue.push({ payload, sink, resolve });
        serveQueue();
      });
    },

    /** Loads a thread if there is none. Resolves when the thread is ready, or has failed to load. */
    async prewarm(): Promise<void> {
      if (threads.size === 0 && !closed) await startThread();
    },

    endIdleThreads: () => endIdleSince(Date.now()),
    threads: (): readonly FunctionThread[] => [...threads],

    /** Ends all threads, busy ones too. Returns how many. The next invocation starts a new thread. */
    killThreads(): number {
      const running = [...threads];
      for (const thread of running) void thread.terminate();
      return running.length;
    },

    async close(): Promise<void> {
      closed = true;
      clearInterval(sweep);
      for (const { resolve } of queue.splice(0)) resolve(SHUT_DOWN);
      await Promise.all([...threads].map((thread) => thread.terminate()));
    },
  };
}

export type FunctionPool = ReturnType<typeof createFunctionPool>;
