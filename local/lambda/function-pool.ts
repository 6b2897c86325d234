import type { FunctionDefinition, ThreadEvents } from './function-definition.ts';
import { FunctionThread } from './function-thread.ts';
import type { InvocationResult, ResponseSink } from './invokable-function.ts';

interface PoolOptions extends ThreadEvents {
  readonly maxConcurrency: number;
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

export const IDLE_MILLISECONDS = 5 * 60_000;

/**
 * One thread of the pool loads at a time: two that load concurrently slow each other. `maxConcurrency` may be larger
 * than the number of processors, because calls mostly wait.
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

  function serveQueue(): void {
    while (queue.length > 0 && idle.size > 0) {
      // A thread that has run more calls may be faster. The others stay idle longer, so that they can end.
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

    async prewarm(): Promise<void> {
      if (threads.size === 0 && !closed) await startThread();
    },

    endIdleThreads: () => endIdleSince(Date.now()),
    threads: (): readonly FunctionThread[] => [...threads],

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
