import type { Session } from '../iam/access-rules.ts';
import type { RunContext } from '../run-context.ts';
import type { RecordedCall } from '../wire/recorded-call.ts';
import { callsDirectly, type Definition, type State, waitsForToken } from './definition.ts';
import type { Execution } from './execution-log.ts';
import { invokeFunction } from './invoke-function.ts';
import { TaskError } from './task-error.ts';
import type { TaskTokens } from './task-tokens.ts';

export type Outcome = Pick<Execution, 'status' | 'output' | 'error' | 'cause'>;

export interface RunningExecution {
  readonly outcome: Promise<Outcome>;
  /** Ends the execution as ABORTED. */
  stop(): void;
}

/** A deferred import, because it takes 0.1 s: loaded if the template has a state machine. */
export type Emulator = typeof import('aws-local-stepfunctions');

export interface ExecutionEnvironment {
  readonly emulator: Emulator;
  readonly definition: Definition;
  readonly machineName: string;
  readonly role: Session;
  readonly tokens: TaskTokens;
  readonly context: RunContext;
}

/** Runs one execution of the definition. */
export function runExecution(
  execution: Execution,
  { emulator, definition, machineName, role, tokens, context }: ExecutionEnvironment,
): RunningExecution {
  const ended = new AbortController();
  const endedError = () => new TaskError('States.Runtime', 'The execution has ended', { isFinal: true });
  // By this clock, the emulator's timer may fire a millisecond early.
  const deadline = performance.now() + (definition.TimeoutSeconds ?? Infinity) * 1000 - 2;
  const currentState = { Name: '', EnteredTime: '', RetryCount: 0 };
  let nextToken: string | undefined;

  const contextObject = {
    Execution: { Id: execution.arn, Name: execution.name, RoleArn: role.roleArn, RedriveCount: 0 },
    StateMachine: { Id: execution.machineArn, Name: machineName },
    State: currentState,
    Task: {
      /** Read while the emulator fills in a state's Parameters. Returns the same token until the task starts. */
      get Token(): string | undefined {
        const state = definition.States[currentState.Name];
        if (!state || !waitsForToken(state)) return undefined;
        nextToken ??= tokens.issue(execution.machineArn);
        return nextToken;
      },
    },
  };

  function enter(name: string): void {
    if (context.options.recordCalls) context.calls.push(transitionTo(name));
    Object.assign(currentState, { Name: name, EnteredTime: new Date().toISOString(), RetryCount: 0 });
    nextToken = undefined;
  }

  /** The emulator calls this as soon as it has filled in the Parameters. */
  async function runTask(state: State, input: never): Promise<never> {
    // When the execution ends, the emulator's waits end too. A wait before a retry would then start the retry.
    if (ended.signal.aborted || performance.now() >= deadline) throw endedError();
    const token = nextToken ?? tokens.issue(execution.machineArn);
    nextToken = undefined;
    currentState.RetryCount += 1;
    const task = Promise.withResolvers<unknown>();
    const milliseconds = (state.TimeoutSeconds ?? 0) * 1000;
    // The emulator's timer ends the state. This timer invalidates the token.
    const timeout = setTimeout(() => tokens.close(token), milliseconds);
    const stop = () => task.reject(endedError());
    ended.signal.addEventListener('abort', stop, { once: true });
    if (waitsForToken(state)) {
      tokens.open(token, {
        succeed: task.resolve,
        fail: (error, cause) => task.reject(new TaskError(error, cause)),
      });
    }
    const call = callsDirectly(state)
      ? invokeFunction({ FunctionName: state.Resource ?? '', Payload: input }, role, context)
      : invokeFunction(input, role, context);
    call.then((result) => {
      if (waitsForToken(state)) return;
      task.resolve(callsDirectly(state) ? (result as { Payload: unknown }).Payload : result);
    }, task.reject);
    try {
      return (await task.promise) as never;
    } finally {
      clearTimeout(timeout);
      tokens.close(token);
      ended.signal.removeEventListener('abort', stop);
    }
  }

  const states = Object.entries(definition.States);
  const machine = new emulator.StateMachine(
    { ...definition, States: reportEntry(definition.States, enter) } as never,
    {
      validationOptions: { noValidate: true },
    },
  );
  const run = machine.run(JSON.parse(execution.input), {
    context: contextObject,
    overrides: {
      taskResourceLocalHandlers: Object.fromEntries(
        states
          .filter(([, { Type }]) => Type === 'Task')
          .map(([name, state]) => [name, (input) => runTask(state, input as never)]),
      ),
      waitTimeOverrides: { ...context.options.waitMilliseconds },
      retryIntervalOverrides: { ...context.options.waitMilliseconds },
    },
  });
  const outcome = run.result
    .then(
      (output): Outcome => ({ status: 'SUCCEEDED', output: JSON.stringify(output) }),
      (error: Error): Outcome => {
        if (error instanceof emulator.ExecutionAbortedError) return { status: 'ABORTED' };
        if (error instanceof emulator.ExecutionTimeoutError)
          return { status: 'TIMED_OUT', error: 'States.Timeout' };
        const cause = error.cause instanceof Error ? error.cause : error;
        return { status: 'FAILED', error: cause.name, cause: cause.message };
      },
    )
    .finally(() => ended.abort());
  return {
    outcome,
    stop() {
      ended.abort();
      run.abort();
    },
  };
}

const transitionTo = (name: string): RecordedCall => ({
  service: 'sfn',
  operation: 'transition',
  name,
  status: 200,
  bytes: { sent: 0, received: 0 },
  milliseconds: 0,
});

/** Calls `enter` when a state is read: the emulator reads a state only when it enters the state. */
function reportEntry(states: Definition['States'], enter: (name: string) => void): Definition['States'] {
  const observed: Record<string, State> = {};
  for (const [name, state] of Object.entries(states)) {
    Object.defineProperty(observed, name, {
      enumerable: true,
      get() {
        enter(name);
        return state;
      },
    });
  }
  return observed;
}
