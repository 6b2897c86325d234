import { AsyncLocalStorage } from 'node:async_hooks';

/** What belongs to one invocation, or to one request of a function that serves several requests at once. */
export interface InvocationContext {
  /** The environment's fields of each log line. */
  readonly environmentFields: Readonly<Record<string, unknown>>;
  /** The invocation's fields of each log line, which metrics and trace contain as well. */
  readonly properties: Record<string, string | undefined>;
  /** Milliseconds until the function's timeout. While time is left, calls to AWS are retried. */
  readonly remainingMilliseconds: (() => number) | undefined;
}

const key = Symbol.for('agent-service.invocation-context');
const shared = globalThis as { [key]?: AsyncLocalStorage<InvocationContext> };

/** Global, because a lazily imported chunk of a function may contain its own copy of this module. */
export function invocationContext(): AsyncLocalStorage<InvocationContext> {
  shared[key] ??= new AsyncLocalStorage();
  return shared[key];
}
