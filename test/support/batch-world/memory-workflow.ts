import type { Batch } from '#domain/batches/batch.ts';
import type { BatchWorkflow } from '#domain/batches/batch-store.ts';
import type { Clock } from '#domain/platform/services.ts';
import type { DeliveryProgress } from '#domain/webhooks/deliver-webhook.ts';

export interface WorkflowInput {
  workspaceId: string;
  batchId: string;
}

export interface WorkflowFunctions {
  dispatch(input: WorkflowInput & { taskToken: string; enteredAt: string }): Promise<unknown>;
  advance(input: WorkflowInput): Promise<{ stage: string; webhook: boolean }>;
  fail(input: WorkflowInput): Promise<{ webhook: boolean }>;
  deliver(input: WorkflowInput): Promise<DeliveryProgress>;
}

type State = 'dispatch' | 'await callback' | 'check' | 'deliver' | 'ended';

interface Execution {
  name: string;
  input: WorkflowInput;
  state: State;
  taskToken: string | null;
  /** Milliseconds since the epoch: when the state is entered, or when the wait for the callback times out. */
  at: number;
  waitSeconds: number;
}

/** The state machine of lib/batch-workflow.ts. A state that fails is retried a second later. */
export function memoryWorkflow(clock: Clock, settings: { batchTimeout: number; lease: number }) {
  const executions = new Map<string, Execution>();
  const nameOf = ({ id, executionNumber }: Batch): string => `${id}-${executionNumber}`;
  const now = () => clock.now().getTime();
  let tokens = 0;

  const enter = (execution: Execution, state: State, seconds = 0): void => {
    execution.state = state;
    execution.at = now() + seconds * 1000;
  };
  const run: Record<State, (execution: Execution, functions: WorkflowFunctions) => Promise<void>> = {
    async dispatch(execution, functions) {
      tokens += 1;
      const taskToken = `token ${tokens}`;
      execution.taskToken = taskToken;
      enter(execution, 'await callback', execution.waitSeconds);
      const enteredAt = clock.now().toISOString();
      await functions.dispatch({ ...execution.input, taskToken, enteredAt });
    },
    'await callback': async (execution) => enter(execution, 'check'),
    async check(execution, functions) {
      const { stage, webhook } = await functions.advance(execution.input);
      execution.waitSeconds = stage === 'wait' ? settings.batchTimeout / 1000 : settings.lease / 1000 + 10;
      enter(execution, stage !== 'over' ? 'dispatch' : webhook ? 'deliver' : 'ended');
    },
    async deliver(execution, functions) {
      const { state, seconds } = await functions.deliver(execution.input);
      enter(execution, state === 'waiting' ? 'deliver' : 'ended', seconds);
    },
    ended: async () => undefined,
  };
  const running = () => [...executions.values()].filter(({ state }) => state !== 'ended');

  return {
    executions,
    async start(batch: Batch) {
      const name = nameOf(batch);
      if (executions.has(name)) return;
      executions.set(name, {
        ...{ name, input: { workspaceId: batch.workspaceId, batchId: batch.id }, state: 'dispatch' },
        ...{ taskToken: null, at: now(), waitSeconds: settings.batchTimeout / 1000 },
      });
    },
    async stateOf(batch: Batch) {
      const execution = executions.get(nameOf(batch));
      if (execution === undefined) return 'none';
      return execution.state === 'ended' ? 'ended' : 'running';
    },
    async completeTaskCallback(taskToken: string) {
      const waiting = running().find(
        (execution) => execution.state === 'await callback' && execution.taskToken === taskToken,
      );
      if (waiting !== undefined) enter(waiting, 'check');
      return waiting !== undefined;
    },
    /** Runs the states that are due now. @returns their number */
    async step(functions: WorkflowFunctions) {
      const due = running().filter(({ at }) => at <= now());
      for (const execution of due) {
        const { state } = execution;
        try {
          await run[state](execution, functions);
        } catch {
          enter(execution, state, 1);
        }
      }
      return due.length;
    },
    nextTime: () => Math.min(...running().map(({ at }) => at)),
  } satisfies BatchWorkflow & Record<string, unknown>;
}
