import type { RunContext } from '../run-context.ts';
import type { Execution, ExecutionLog } from './execution-log.ts';
import type { Machine } from './machine.ts';
import { type Emulator, type RunningExecution, runExecution } from './run-execution.ts';
import type { TaskTokens } from './task-tokens.ts';

interface RunEnvironment {
  readonly log: ExecutionLog;
  readonly emulator: Emulator;
  readonly tokens: TaskTokens;
  readonly context: RunContext;
}

/** Runs executions and logs their outcomes. */
export function createRunningExecutions(environment: RunEnvironment) {
  const { log } = environment;
  const running = new Map<string, RunningExecution>();
  let closed = false;

  async function finish(execution: Execution, { outcome }: RunningExecution): Promise<void> {
    const result = await outcome;
    running.delete(execution.arn);
    if (closed) return;
    // StopExecution has stored its own status already.
    const { status } = log.find(execution.arn) ?? execution;
    if (status === 'RUNNING') await log.put({ ...execution, ...result, stoppedAt: Date.now() });
  }

  return {
    async start({ name: machineName, role, definition }: Machine, execution: Execution): Promise<void> {
      await log.put(execution);
      // The execution was stopped meanwhile, or the run is ending.
      if (closed || log.find(execution.arn)?.status !== 'RUNNING') return;
      const { emulator, tokens, context } = environment;
      const run = runExecution(execution, { emulator, definition, machineName, role, tokens, context });
      running.set(execution.arn, run);
      void finish(execution, run);
    },
    stop: (executionArn: string) => running.get(executionArn)?.stop(),
    /** Stops all executions. The next run marks them as ABORTED. */
    async close(): Promise<void> {
      closed = true;
      for (const { stop } of running.values()) stop();
      await log.flush();
    },
  };
}

export type RunningExecutions = ReturnType<typeof createRunningExecutions>;
