import type { Batch } from '#domain/batches/batch.ts';
import type { BatchWorkflow } from '#domain/batches/batch-store.ts';
import type { WorkflowFunctions, WorkflowInput } from '#support/batch-world/memory-workflow.ts';
import type { Process } from './process.ts';
import type { Timeline } from './timeline.ts';

type Settings = Readonly<Record<'batchTimeout' | 'lease', number>>;

type Functions = Omit<WorkflowFunctions, 'fail'>;

interface Execution {
  name: string;
  input: WorkflowInput;
  state: 'dispatch' | 'await callback' | 'check' | 'deliver' | 'ended';
  taskToken: string | null;
  /** Of the state: what was planned for an earlier state does nothing. */
  entries: number;
  waitSeconds: number;
}

/** Attempts of a state whose function fails. Then the execution fails, and the reconciler starts another one. */
const attemptsOfState = 6;

/** The state machine of lib/batch-workflow.ts. */
export class Workflow {
  readonly executions = new Map<string, Execution>();
  readonly #timeline: Timeline;
  readonly #functions: Functions;
  readonly #settings: Settings;
  #tokens = 0;

  constructor(timeline: Timeline, settings: Settings, functions: Functions) {
    this.#timeline = timeline;
    this.#settings = settings;
    this.#functions = functions;
  }

  /** The port of a process. */
  portOf(process: Process): BatchWorkflow {
    const nameOf = ({ id, executionNumber }: Batch): string => `${id}-${executionNumber}`;
    return {
      start: (batch) =>
        process.call('batchWorkflow.start', 'other', () => {
          if (this.executions.has(nameOf(batch))) return;
          const execution: Execution = {
            ...{ name: nameOf(batch), state: 'dispatch', taskToken: null, entries: 0 },
            input: { workspaceId: batch.workspaceId, batchId: batch.id },
            waitSeconds: this.#settings.batchTimeout / 1000,
          };
          this.executions.set(execution.name, execution);
          this.#enter(execution, 'dispatch', 100);
        }),
      stateOf: (batch) =>
        process.call('batchWorkflow.stateOf', 'read', () => {
          const execution = this.executions.get(nameOf(batch));
          if (execution === undefined) return 'none';
          return execution.state === 'ended' ? 'ended' : 'running';
        }),
      completeTaskCallback: (taskToken) =>
        process.call('batchWorkflow.completeTaskCallback', 'other', () => {
          const waiting = [...this.executions.values()].find(
            (execution) => execution.state === 'await callback' && execution.taskToken === taskToken,
          );
          if (waiting !== undefined) this.#enter(waiting, 'check', 50);
          return waiting !== undefined;
        }),
    };
  }

  /** Ends an execution that runs, if there is one. @returns its name */
  loseOne(): string | undefined {
    const running = [...this.executions.values()].filter(({ state }) => state !== 'ended');
    if (running.length === 0) return undefined;
    const lost = this.#timeline.pick(running);
    this.#enter(lost, 'ended', 0);
    return lost.name;
  }

  #enter(execution: Execution, state: Execution['state'], delay: number): void {
    execution.state = state;
    execution.entries += 1;
    const { entries } = execution;
    if (state === 'ended') return;
    this.#timeline.at(this.#timeline.now + delay, () => {
      if (execution.entries === entries) void this.#runState(execution, 1);
    });
  }

  async #runState(execution: Execution, attempt: number): Promise<void> {
    const { entries, state } = execution;
    try {
      if (state === 'dispatch') await this.#dispatch(execution);
      else if (state === 'await callback') this.#enter(execution, 'check', 0);
      else if (state === 'check') await this.#check(execution);
      else await this.#deliver(execution);
    } catch {
      // A state that the callback has ended meanwhile is not retried.
      if (execution.state === 'ended' || (state !== 'dispatch' && execution.entries !== entries)) return;
      if (state === 'dispatch' && execution.state !== 'await callback') return;
      if (attempt === attemptsOfState) return this.#enter(execution, 'ended', 0);
      execution.state = state;
      execution.entries += 1;
      const next = execution.entries;
      this.#timeline.at(this.#timeline.now + 1000 * 2 ** (attempt - 1), () => {
        if (execution.entries === next) void this.#runState(execution, attempt + 1);
      });
    }
  }

  async #dispatch(execution: Execution): Promise<void> {
    this.#tokens += 1;
    const taskToken = `token-${String(this.#tokens).padStart(6, '0')}`;
    execution.taskToken = taskToken;
    this.#enter(execution, 'await callback', execution.waitSeconds * 1000);
    const enteredAt = new Date(this.#timeline.now).toISOString();
    await this.#functions.dispatch({ ...execution.input, taskToken, enteredAt });
  }

  async #check(execution: Execution): Promise<void> {
    const { entries } = execution;
    const { stage, webhook } = await this.#functions.advance(execution.input);
    if (execution.entries !== entries) return;
    const { batchTimeout, lease } = this.#settings;
    execution.waitSeconds = stage === 'wait' ? batchTimeout / 1000 : lease / 1000 + 10;
    this.#enter(execution, stage !== 'over' ? 'dispatch' : webhook ? 'deliver' : 'ended', 50);
  }

  async #deliver(execution: Execution): Promise<void> {
    const { entries } = execution;
    const { state, seconds } = await this.#functions.deliver(execution.input);
    if (execution.entries !== entries) return;
    if (state === 'waiting') this.#enter(execution, 'deliver', seconds * 1000);
    else this.#enter(execution, 'ended', 0);
  }
}
