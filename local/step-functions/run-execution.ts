import { createCurrentTask, type TaskEnvironment } from './current-task.ts';
import type { Definition, Machine, State } from './definition.ts';
import type { Execution, ExecutionLog } from './execution-log.ts';

export type Outcome = Pick<Execution, 'status' | 'output' | 'error' | 'cause'>;

type RunningExecution = ReturnType<typeof runExecution>;

export type Emulator = typeof import('aws-local-stepfunctions');

export interface ExecutionEnvironment extends TaskEnvironment {
  readonly emulator: Emulator;
}

export function runExecution(execution: Execution, environment: ExecutionEnvironment) {
  const { emulator, context } = environment;
  const { arn, name, role, definition } = environment.machine;
  const ended = new AbortController();
  const task = createCurrentTask(environment, ended.signal);

  function enter(name: string): void {
    if (context.options.recordCalls)
      context.calls.push({
        service: 'sfn',
        operation: 'transition',
        name,
        status: 200,
        bytes: { sent: 0, received: 0 },
        milliseconds: 0,
      });
    task.enter(name);
  }

  const observed = { ...definition, States: reportEntry(definition.States, enter) };
  const emulated = new emulator.StateMachine(observed as never, { validationOptions: { noValidate: true } });
  const run = emulated.run(JSON.parse(execution.input), {
    context: {
      Execution: { Id: execution.arn, Name: execution.name, RoleArn: role.roleArn, RedriveCount: 0 },
      StateMachine: { Id: arn, Name: name },
      State: task.currentState,
      Task: task.contextObject,
    },
    overrides: {
      taskResourceLocalHandlers: Object.fromEntries(
        Object.entries(definition.States)
          .filter(([, { Type }]) => Type === 'Task')
          .map(([name, state]) => [name, (input) => task.run(state, input as never)]),
      ),
      waitTimeOverrides: { ...context.options.waitMilliseconds },
      retryIntervalOverrides: { ...context.options.waitMilliseconds },
    },
  });
  const outcome = run.result
    .then(
      (output): Outcome => ({ status: 'SUCCEEDED', output: JSON.stringify(output) }),
      (error: Error) => failedOutcome(error, emulator),
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

function failedOutcome(error: Error, { ExecutionAbortedError, ExecutionTimeoutError }: Emulator): Outcome {
  if (error instanceof ExecutionAbortedError) return { status: 'ABORTED' };
  if (error instanceof ExecutionTimeoutError) return { status: 'TIMED_OUT', error: 'States.Timeout' };
  const cause = error.cause instanceof Error ? error.cause : error;
  return { status: 'FAILED', error: cause.name, cause: cause.message };
}

/** Calls `enter` when a state is read: the emulator reads a state before it enters it. */
function reportEntry(states: Definition['States'], enter: (name: string) => void): Definition['States'] {
  const observed: Record<string, State> = {};
  for (const [name, state] of Object.entries(states)) {
    const get = () => {
      enter(name);
      return state;
    };
    Object.defineProperty(observed, name, { enumerable: true, get });
  }
  return observed;
}

export function createRunningExecutions(
  log: ExecutionLog,
  environment: Omit<ExecutionEnvironment, 'machine'>,
) {
  const running = new Map<string, RunningExecution>();
  let closed = false;

  async function finish(execution: Execution, { outcome }: RunningExecution): Promise<void> {
    const result = await outcome;
    running.delete(execution.arn);
    if (closed) return;
    // StopExecution stores the status itself.
    const { status } = log.find(execution.arn) ?? execution;
    if (status === 'RUNNING') await log.put({ ...execution, ...result, stoppedAt: Date.now() });
  }

  return {
    async start(machine: Machine, execution: Execution): Promise<void> {
      await log.put(execution);
      // The execution was stopped meanwhile, or the run is ending.
      if (closed || log.find(execution.arn)?.status !== 'RUNNING') return;
      const run = runExecution(execution, { ...environment, machine });
      running.set(execution.arn, run);
      void finish(execution, run);
    },
    stop: (executionArn: string) => running.get(executionArn)?.stop(),
    /** The next run marks the running executions as ABORTED. */
    async close(): Promise<void> {
      closed = true;
      for (const { stop } of running.values()) stop();
      await log.flush();
    },
  };
}

export type RunningExecutions = ReturnType<typeof createRunningExecutions>;
