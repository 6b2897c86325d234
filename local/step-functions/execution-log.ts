import { appendFile, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';

export type ExecutionStatus = 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'TIMED_OUT' | 'ABORTED';

/** An execution as DescribeExecution tells it; times in milliseconds. */
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

export interface ExecutionLog {
  find(arn: string): Execution | undefined;
  /** Of one machine, the latest first. */
  list(machineArn: string): Execution[];
  /** Seen by `find` at once, on disk when the promise resolves. */
  put(execution: Execution): Promise<void>;
  /** Everything put so far is on disk. */
  settled(): Promise<void>;
}

// As long as AWS remembers an execution and with it its name.
const KEPT_MILLISECONDS = 90 * 24 * 60 * 60 * 1000;

/** The executions of this data folder, one line for each change of one. Those that ran when a run ended are ABORTED. */
export async function openExecutionLog(dataDir: string): Promise<ExecutionLog> {
  const file = path.join(dataDir, 'executions.jsonl');
  const executions = new Map<string, Execution>();
  const oldest = Date.now() - KEPT_MILLISECONDS;
  for (const execution of await readLines(file)) {
    if (execution.startedAt > oldest) executions.set(execution.arn, interrupted(execution));
  }
  // Anew and whole, so that no line begins behind one that was left half written.
  const lines = [...executions.values()].map((execution) => `${JSON.stringify(execution)}\n`);
  await writeFile(`${file}.new`, lines.join(''), { mode: 0o600 });
  await rename(`${file}.new`, file);
  let writing = Promise.resolve();
  return {
    find: (arn) => executions.get(arn),
    list: (machineArn) =>
      [...executions.values()]
        .filter((execution) => execution.machineArn === machineArn)
        .sort((one, other) => other.startedAt - one.startedAt),
    put(execution) {
      executions.set(execution.arn, execution);
      const write = () => appendFile(file, `${JSON.stringify(execution)}\n`, { mode: 0o600 });
      const written = writing.then(write);
      writing = written.catch(() => {});
      return written;
    },
    settled: () => writing,
  };
}

async function readLines(file: string): Promise<Execution[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  const lines = text.split('\n');
  // What follows the last line's end is nothing, or what a killed process left half written.
  return lines.slice(0, -1).map((line) => JSON.parse(line) as Execution);
}

function interrupted(execution: Execution): Execution {
  if (execution.status !== 'RUNNING') return execution;
  return {
    ...execution,
    status: 'ABORTED',
    stoppedAt: Date.now(),
    cause: 'The run in which it began has ended',
  };
}
