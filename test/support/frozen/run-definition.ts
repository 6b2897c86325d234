import { StateMachine, type StateMachineDefinition } from 'aws-local-stepfunctions';

/** The workflow's definition with functions by the names of their constructs, such as `DispatchBatch`. */
export interface FrozenDefinition {
  StartAt: string;
  States: Record<string, { Type: string; Resource?: string }>;
}

/** One invocation of a function by a state. */
export interface StateRun {
  state: string;
  functionName: string;
  input: unknown;
  output: unknown;
}

const waitsForToken = ({ Resource = '' }: FrozenDefinition['States'][string]): boolean =>
  Resource.endsWith('.waitForTaskToken');

/**
 * Runs a definition as Step Functions does, even if the deployed definition is newer: executions that run during a
 * deployment keep their definition and call the new code.
 */
export async function runDefinition(
  definition: FrozenDefinition,
  {
    input,
    taskToken,
    invoke,
    awaitTask,
  }: {
    input: unknown;
    taskToken: string;
    invoke: (functionName: string, payload: unknown) => Promise<unknown>;
    /** Resolves when a task that waits for its token would be completed. */
    awaitTask: () => Promise<void>;
  },
): Promise<{ runs: StateRun[]; output: unknown }> {
  const runs: StateRun[] = [];
  const handlers = Object.entries(definition.States)
    .filter(([, { Type }]) => Type === 'Task')
    .map(([name, state]) => [
      name,
      async (parameters: unknown) => {
        const { FunctionName, Payload } = parameters as { FunctionName: string; Payload: unknown };
        const output = await invoke(FunctionName, Payload);
        runs.push({ state: name, functionName: FunctionName, input: Payload, output });
        if (!waitsForToken(state)) return { Payload: output };
        await awaitTask();
        return {};
      },
    ]);
  const waits = Object.entries(definition.States).filter(([, { Type }]) => Type === 'Wait');
  const machine = new StateMachine(definition as unknown as StateMachineDefinition, {
    validationOptions: { noValidate: true },
  });
  const { result } = machine.run(input as never, {
    context: { Task: { Token: taskToken }, State: { EnteredTime: new Date().toISOString() } } as never,
    overrides: {
      taskResourceLocalHandlers: Object.fromEntries(handlers),
      waitTimeOverrides: Object.fromEntries(waits.map(([name]) => [name, 1000])),
    },
  });
  return { output: await result, runs };
}
