import { randomUUID } from 'node:crypto';
import type { Permission, Session } from '../iam/access-rules.ts';
import type { RunContext } from '../run-context.ts';
import { AwsJsonError, type AwsJsonOperation } from '../wire/serve-aws-json.ts';
import type { Definition } from './definition.ts';
import type { Execution, ExecutionLog } from './execution-log.ts';
import { STATE_BYTES } from './invoke-function.ts';
import { type Emulator, type RunningExecution, runExecution } from './run-execution.ts';
import { createTaskTokens } from './task-tokens.ts';

export interface Machine {
  readonly arn: string;
  readonly name: string;
  readonly role: Session;
  readonly definition: Definition;
}

type Input = Record<string, unknown>;

// As in AWS: no spaces, brackets, wildcards, control characters or characters with a meaning in an ARN or a URL.
// biome-ignore lint/suspicious/noControlCharactersInRegex: names must not contain them
const REJECTED_IN_NAMES = /[\s<>{}[\]?*"#%\\^|~`$&,;:/\u0000-\u001f\u007f-\u009f]/;

const MAX_PAGE_SIZE = 1000;
const DEFAULT_PAGE_SIZE = 100;

/** The operations of Step Functions on these state machines. */
export function createExecutions(
  machines: ReadonlyMap<string, Machine>,
  log: ExecutionLog,
  emulator: Emulator,
  context: RunContext,
) {
  const tokens = createTaskTokens();
  const running = new Map<string, RunningExecution>();
  let closed = false;

  function findExecution(arn: unknown): Execution {
    const execution = log.find(String(arn));
    if (execution) return execution;
    throw new AwsJsonError('ExecutionDoesNotExist', `Execution Does Not Exist: '${arn}'`);
  }

  async function finish(execution: Execution, { outcome }: RunningExecution): Promise<void> {
    const result = await outcome;
    running.delete(execution.arn);
    // The end of the run has stopped the execution. The next run marks it as ABORTED.
    if (closed) return;
    // StopExecution has stored its own status already.
    const { status } = log.find(execution.arn) ?? execution;
    if (status === 'RUNNING') await log.put({ ...execution, ...result, stoppedAt: Date.now() });
  }

  async function start(machine: Machine, execution: Execution): Promise<void> {
    await log.put(execution);
    // The execution was stopped meanwhile, or the run is ending.
    if (closed || log.find(execution.arn)?.status !== 'RUNNING') return;
    const { name: machineName, role, definition } = machine;
    const run = runExecution(execution, { emulator, definition, machineName, role, tokens, context });
    running.set(execution.arn, run);
    void finish(execution, run);
  }

  const operations: Record<string, AwsJsonOperation> = {
    async StartExecution(request) {
      const machine = machines.get(String(request.stateMachineArn));
      if (!machine) {
        throw new AwsJsonError(
          'StateMachineDoesNotExist',
          `State Machine Does Not Exist: '${request.stateMachineArn}'`,
        );
      }
      const name = readName(request);
      const input = readInput(request);
      const arn = `${machine.arn.replace(':stateMachine:', ':execution:')}:${name}`;
      const known = log.find(arn);
      if (known?.status === 'RUNNING' && known.input === input) {
        return { executionArn: arn, startDate: seconds(known.startedAt) };
      }
      if (known) throw new AwsJsonError('ExecutionAlreadyExists', `Execution Already Exists: '${arn}'`);
      const startedAt = Date.now();
      await start(machine, { arn, machineArn: machine.arn, name, input, startedAt, status: 'RUNNING' });
      return { executionArn: arn, startDate: seconds(startedAt) };
    },

    DescribeExecution({ executionArn }) {
      const { input, output, error, cause, ...execution } = findExecution(executionArn);
      return {
        ...describe(execution),
        input,
        inputDetails: { included: true },
        ...(output !== undefined && { output, outputDetails: { included: true } }),
        error,
        cause,
        redriveCount: 0,
      };
    },

    ListExecutions({ stateMachineArn, statusFilter, maxResults, nextToken }) {
      const found = log
        .list(String(stateMachineArn))
        .filter(({ status }) => statusFilter === undefined || status === statusFilter);
      const from = Number(nextToken ?? 0);
      const to = from + Math.min(Number(maxResults) || DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE);
      return {
        executions: found.slice(from, to).map(describe),
        ...(to < found.length && { nextToken: String(to) }),
      };
    },

    async StopExecution({ executionArn, error, cause }) {
      const execution = findExecution(executionArn);
      if (execution.status !== 'RUNNING') return { stopDate: seconds(execution.stoppedAt) };
      const stoppedAt = Date.now();
      const stopped = log.put({
        ...execution,
        status: 'ABORTED',
        stoppedAt,
        ...(error !== undefined && { error: String(error) }),
        ...(cause !== undefined && { cause: String(cause) }),
      });
      running.get(execution.arn)?.stop();
      await stopped;
      return { stopDate: seconds(stoppedAt) };
    },

    SendTaskSuccess({ taskToken, output }) {
      const task = tokens.find(taskToken);
      task.succeed(parseJson(output, 'InvalidOutput'));
      tokens.close(String(taskToken));
      return {};
    },

    SendTaskFailure({ taskToken, error, cause }) {
      tokens.find(taskToken).fail(String(error ?? 'States.TaskFailed'), String(cause ?? ''));
      tokens.close(String(taskToken));
      return {};
    },

    SendTaskHeartbeat({ taskToken }) {
      tokens.find(taskToken);
      return {};
    },
  };

  /** The permissions that IAM checks for a call. For a task token, the resource is the state machine that issued it. */
  function needed(operation: string, { stateMachineArn, executionArn, taskToken }: Input): Permission[] {
    const resource =
      taskToken === undefined
        ? (executionArn ?? stateMachineArn)
        : [...machines.keys()].find((arn) => tokens.wasIssuedBy(taskToken, arn));
    return resource === undefined ? [] : [{ action: `states:${operation}`, resource: String(resource) }];
  }

  return {
    operations,
    needed,
    async close(): Promise<void> {
      closed = true;
      for (const { stop } of running.values()) stop();
      await log.flush();
    },
  };
}

function readName({ name = randomUUID() }: Input): string {
  if (typeof name === 'string' && name !== '' && name.length <= 80 && !REJECTED_IN_NAMES.test(name)) {
    return name;
  }
  throw new AwsJsonError('InvalidName', `Invalid Name: '${name}'`);
}

function readInput({ input = '{}' }: Input): string {
  parseJson(input, 'InvalidExecutionInput');
  return String(input);
}

function parseJson(text: unknown, errorName: string): unknown {
  if (typeof text !== 'string' || Buffer.byteLength(text) > STATE_BYTES) {
    throw new AwsJsonError(errorName, `${errorName}: at most ${STATE_BYTES} bytes of JSON text are allowed`);
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new AwsJsonError(errorName, `${errorName}: ${(error as Error).message}`);
  }
}

function describe({ arn, machineArn, name, status, startedAt, stoppedAt }: Omit<Execution, 'input'>) {
  return {
    executionArn: arn,
    stateMachineArn: machineArn,
    name,
    status,
    startDate: seconds(startedAt),
    ...(stoppedAt !== undefined && { stopDate: seconds(stoppedAt) }),
  };
}

function seconds(milliseconds = 0): number {
  return milliseconds / 1000;
}
