import { appendFile, truncate } from 'node:fs/promises';
import path from 'node:path';
import { readState, writeState } from '../data/state-file.ts';

export type ExecutionStatus = 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'TIMED_OUT' | 'ABORTED';

/** Times are epoch milliseconds. */
export interface Execution {
  readonly arn: string;
  readonly machineArn: string;
  readonly name: string;
  readonly input: string;
  readonly startedAt: number;
  readonly status: ExecutionStatus;
  readonly stoppedAt?: number;
  readonly output?: string;
  readonly error?: string;
  readonly cause?: string;
}

// AWS stores an execution that has ended, and reserves its name, for 90 days. Here, they count from its start.
const RETENTION_MILLISECONDS = 90 * 24 * 60 * 60 * 1000;

/**
 * Executions that were running when an earlier run ended become ABORTED.
 * @throws UnreadableState if the file cannot be read, or if a complete line is damaged
 */
export async function openExecutionLog(dataDir: string) {
  const file = path.join(dataDir, 'executions.jsonl');
  const executions = new Map<string, Execution>();
  const oldest = Date.now() - RETENTION_MILLISECONDS;
  for (const execution of (await readState(file, readLines)) ?? [])
    if (execution.startedAt > oldest) executions.set(execution.arn, abortIfRunning(execution));
  // Rewritten as a whole, so that no line follows an incomplete one.
  const lines = [...executions.values()].map((execution) => `${JSON.stringify(execution)}\n`);
  await writeState(file, lines.join(''));
  let writing = Promise.resolve();
  let size = lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);

  async function append(line: string): Promise<void> {
    try {
      await appendFile(file, line);
      size += Buffer.byteLength(line);
    } catch (error) {
      // If the disk is full, a part of the line may have been written. The next line must not follow it.
      await truncate(file, size);
      throw error;
    }
  }

  return {
    find: (arn: string): Execution | undefined => executions.get(arn),
    list: (machineArn: string): Execution[] =>
      [...executions.values()]
        .filter((execution) => execution.machineArn === machineArn)
        .sort((one, other) => other.startedAt - one.startedAt),
    /** Resolves when the execution is in the file; `find` returns it immediately. */
    put(execution: Execution): Promise<void> {
      executions.set(execution.arn, execution);
      const written = writing.then(() => append(`${JSON.stringify(execution)}\n`));
      writing = written.catch(() => {});
      return written;
    },
    /** Resolves when everything put so far is in the file, or its write has failed. */
    flush: (): Promise<void> => writing,
  };
}

function readLines(text: string): Execution[] {
  const lines = text.split('\n');
  // The text after the last line break is empty, or an incomplete line.
  return lines.slice(0, -1).map((line, index) => {
    const execution = readLine(line);
    if (execution === undefined) throw new Error(`line ${index + 1} is damaged`);
    return execution;
  });
}

function readLine(line: string): Execution | undefined {
  try {
    const execution = JSON.parse(line) as Execution | null;
    return typeof execution?.arn === 'string' && Number.isFinite(execution.startedAt) ? execution : undefined;
  } catch {
    return undefined;
  }
}

function abortIfRunning(execution: Execution): Execution {
  if (execution.status !== 'RUNNING') return execution;
  const cause = 'The run in which it began has ended';
  return { ...execution, status: 'ABORTED', stoppedAt: Date.now(), cause };
}

export type ExecutionLog = Awaited<ReturnType<typeof openExecutionLog>>;
