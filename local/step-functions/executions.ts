import { randomUUID } from 'node:crypto';
import type { Permission } from '../iam/access-rules.ts';
import type { RunContext } from '../run-context.ts';
import { AwsJsonError, type AwsJsonOperation } from '../wire/serve-aws-json.ts';
import type { Machine } from './definition.ts';
import type { Execution, ExecutionLog } from './execution-log.ts';
import { createRunningExecutions, type Emulator, type RunningExecutions } from './run-execution.ts';
import { createTaskTokens, readJson, taskOperations } from './task-tokens.ts';

type Input = Record<string, unknown>;

// AWS rejects white space, brackets, wildcards, control characters and these special characters.
// biome-ignore lint/suspicious/noControlCharactersInRegex: names must not contain them
const REJECTED_IN_NAMES = /[\s<>{}[\]?*"#%\\^|~`$&,;:/\u0000-\u001f\u007f-\u009f]/;

const MAX_PAGE_SIZE = 1000;
const DEFAULT_PAGE_SIZE = 100;

export function createExecutions(
  machines: ReadonlyMap<string, Machine>,
  log: ExecutionLog,
  emulator: Emulator,
  context: RunContext,
) {
  const tokens = createTaskTokens();
  const running = createRunningExecutions(log, { emulator, tokens, context });

  /** For a task token, the resource is the state machine that issued it. */
  function needed(operation: string, { stateMachineArn, executionArn, taskToken }: Input): Permission[] {
    const resource =
      taskToken === undefined
        ? (executionArn ?? stateMachineArn)
        : [...machines.keys()].find((arn) => tokens.wasIssuedBy(taskToken, arn));
    return resource === undefined ? [] : [{ action: `states:${operation}`, resource: String(resource) }];
  }

  return {
    operations: { ...executionOperations(machines, log, running), ...taskOperations(tokens) },
    needed,
    close: running.close,
  };
}

function executionOperations(
  machines: ReadonlyMap<string, Machine>,
  log: ExecutionLog,
  running: RunningExecutions,
): Record<string, AwsJsonOperation> {
  function findExecution(arn: unknown): Execution {
    const execution = log.find(String(arn));
    if (execution) return execution;
    throw new AwsJsonError('ExecutionDoesNotExist', `Execution Does Not Exist: '${arn}'`);
  }

  return {
    async StartExecution({ stateMachineArn, name: givenName, input: givenInput = '{}' }) {
      const machine = machines.get(String(stateMachineArn));
      if (!machine)
        throw new AwsJsonError(
          'StateMachineDoesNotExist',
          `State Machine Does Not Exist: '${stateMachineArn}'`,
        );
      const name = readName(givenName);
      readJson(givenInput, 'InvalidExecutionInput');
      const input = String(givenInput);
      const arn = `${machine.arn.replace(':stateMachine:', ':execution:')}:${name}`;
      const known = log.find(arn);
      if (known?.status === 'RUNNING' && known.input === input)
        return { executionArn: arn, startDate: seconds(known.startedAt) };
      if (known) throw new AwsJsonError('ExecutionAlreadyExists', `Execution Already Exists: '${arn}'`);
      const startedAt = Date.now();
      const execution = { arn, machineArn: machine.arn, name, input, startedAt, status: 'RUNNING' } as const;
      await running.start(machine, execution);
      return { executionArn: arn, startDate: seconds(startedAt) };
    },

    DescribeExecution: ({ executionArn }) => describeInFull(findExecution(executionArn)),

    ListExecutions: ({ stateMachineArn, ...page }) => listPage(log.list(String(stateMachineArn)), page),

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
      running.stop(execution.arn);
      await stopped;
      return { stopDate: seconds(stoppedAt) };
    },
  };
}

function readName(name: unknown = randomUUID()): string {
  if (typeof name === 'string' && name !== '' && name.length <= 80 && !REJECTED_IN_NAMES.test(name))
    return name;
  throw new AwsJsonError('InvalidName', `Invalid Name: '${name}'`);
}

function listPage(executions: readonly Execution[], { statusFilter, maxResults, nextToken }: Input) {
  const found = executions.filter(({ status }) => statusFilter === undefined || status === statusFilter);
  const from = Number(nextToken ?? 0);
  const to = from + Math.min(Number(maxResults) || DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE);
  return {
    executions: found.slice(from, to).map(describe),
    ...(to < found.length && { nextToken: String(to) }),
  };
}

function describeInFull({ input, output, error, cause, ...execution }: Execution) {
  return {
    ...describe(execution),
    input,
    inputDetails: { included: true },
    ...(output !== undefined && { output, outputDetails: { included: true } }),
    error,
    cause,
    redriveCount: 0,
  };
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

const seconds = (milliseconds = 0): number => milliseconds / 1000;
