import type { RunContext } from '../run-context.ts';
import { callsDirectly, type Machine, type State, waitsForToken } from './definition.ts';
import { invokeFunction, TaskError } from './invoke-function.ts';
import type { TaskTokens } from './task-tokens.ts';

export interface TaskEnvironment {
  readonly machine: Machine;
  readonly tokens: TaskTokens;
  readonly context: RunContext;
}

export function createCurrentTask(
  { machine: { arn, definition, role }, tokens, context }: TaskEnvironment,
  ended: AbortSignal,
) {
  // 2 ms early, because by this clock the emulator's timer may fire a millisecond before its time.
  const deadline = performance.now() + (definition.TimeoutSeconds ?? Infinity) * 1000 - 2;
  const currentState = { Name: '', EnteredTime: '', RetryCount: 0 };
  let nextToken: string | undefined;

  function startTask(state: State, input: never, token: string): PromiseWithResolvers<unknown> {
    const task = Promise.withResolvers<unknown>();
    const isDirect = callsDirectly(state);
    if (waitsForToken(state))
      tokens.open(token, {
        succeed: task.resolve,
        fail: (error, cause) => task.reject(new TaskError(error, cause)),
      });
    const invocation = isDirect ? { FunctionName: state.Resource, Payload: input } : input;
    invokeFunction(invocation, role, context).then((result) => {
      if (!waitsForToken(state)) task.resolve(isDirect ? result.Payload : result);
    }, task.reject);
    return task;
  }

  return {
    currentState,
    contextObject: {
      /**
       * The value of `$$.Task.Token`; undefined for a state that does not wait for its token. It stays the same until
       * the task starts.
       */
      get Token(): string | undefined {
        const state = definition.States[currentState.Name];
        if (!state || !waitsForToken(state)) return undefined;
        nextToken ??= tokens.issue(arn);
        return nextToken;
      },
    },

    enter(stateName: string): void {
      Object.assign(currentState, { Name: stateName, EnteredTime: new Date().toISOString(), RetryCount: 0 });
      nextToken = undefined;
    },

    async run(state: State, input: never): Promise<never> {
      // When the execution ends, a wait before a retry ends too. The emulator would then start the retry.
      if (ended.aborted || performance.now() >= deadline) throw endedError();
      const token = nextToken ?? tokens.issue(arn);
      nextToken = undefined;
      currentState.RetryCount += 1;
      // The emulator's timer makes the task fail. This timer invalidates the token.
      const timeout = setTimeout(() => tokens.close(token), (state.TimeoutSeconds ?? 0) * 1000);
      const task = startTask(state, input, token);
      const stop = () => task.reject(endedError());
      ended.addEventListener('abort', stop, { once: true });
      try {
        return (await task.promise) as never;
      } finally {
        clearTimeout(timeout);
        tokens.close(token);
        ended.removeEventListener('abort', stop);
      }
    },
  };
}

const endedError = () => new TaskError('States.Runtime', 'The execution has ended', true);
