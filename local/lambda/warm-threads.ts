import type { FunctionDefinition, ThreadEvents } from './function-definition.ts';
import { createFunctionThread, type FunctionThread } from './function-thread.ts';
import type { InvocationResult } from './invokable-function.ts';

/** AWS usually removes an idle environment after about this time. */
export const IDLE_MILLISECONDS = 5 * 60_000;

/** Manages the threads of one function. Ends threads that are idle for 5 minutes. */
export function createWarmThreads(
  definition: FunctionDefinition,
  { onLine, onViolation }: Omit<ThreadEvents, 'onGone'>,
) {
  const threads = new Set<FunctionThread>();
  const idle: { readonly thread: FunctionThread; readonly since: number }[] = [];
  /** The number of calls of each thread. A thread with more calls is faster. */
  const callsOf = new WeakMap<FunctionThread, number>();
  let isStarting = false;

  function remove(thread: FunctionThread): void {
    threads.delete(thread);
    const index = idle.findIndex((entry) => entry.thread === thread);
    if (index >= 0) idle.splice(index, 1);
  }

  const callsTo = (thread: FunctionThread | undefined): number =>
    (thread !== undefined && callsOf.get(thread)) || 0;

  function release(thread: FunctionThread): void {
    if (threads.has(thread)) idle.push({ thread, since: Date.now() });
  }

  function endIdleSince(time: number): void {
    for (const { thread } of idle.filter(({ since }) => since <= time)) void thread.terminate();
  }

  const sweep = setInterval(() => endIdleSince(Date.now() - IDLE_MILLISECONDS), IDLE_MILLISECONDS / 5);
  sweep.unref();

  return {
    get count(): number {
      return threads.size;
    },
    get idleCount(): number {
      return idle.length;
    },
    /** Whether a thread is loading. Only one loads at a time, because two that load concurrently slow each other. */
    get isStarting(): boolean {
      return isStarting;
    },
    all: (): readonly FunctionThread[] => [...threads],
    /** Starts a thread, which is idle when it has loaded. Resolves with the failure if it cannot load. */
    async start(): Promise<InvocationResult | undefined> {
      const onGone = () => remove(thread);
      const thread = createFunctionThread(definition, { onLine, onViolation, onGone });
      threads.add(thread);
      isStarting = true;
      const failure = await thread.loaded;
      isStarting = false;
      if (!failure) release(thread);
      return failure;
    },
    /** Takes the idle thread with the most calls, so that the other threads stay idle and end. */
    takeWarmest(): FunctionThread | undefined {
      let warmest = 0;
      for (const [index, { thread }] of idle.entries())
        if (callsTo(thread) > callsTo(idle[warmest]?.thread)) warmest = index;
      const thread = idle.splice(warmest, 1)[0]?.thread;
      if (thread) callsOf.set(thread, callsTo(thread) + 1);
      return thread;
    },
    /** Makes a thread idle again, unless it has ended. */
    release,
    endIdle: () => endIdleSince(Date.now()),
    /** Ends all threads, busy ones too. Returns how many. */
    kill(): number {
      const running = [...threads];
      for (const thread of running) void thread.terminate();
      return running.length;
    },
    async close(): Promise<void> {
      clearInterval(sweep);
      await Promise.all([...threads].map((thread) => thread.terminate()));
    },
  };
}
