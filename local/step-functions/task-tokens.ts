import { createHash, randomBytes } from 'node:crypto';
import { AwsJsonError, type AwsJsonOperation } from '../wire/serve-aws-json.ts';
import { STATE_BYTES } from './invoke-function.ts';

export interface WaitingTask {
  succeed(output: unknown): void;
  fail(error: string, cause: string): void;
}

const RUN_BYTES = 8;
const MACHINE_BYTES = 8;
const RANDOM_BYTES = 16;
const CHECKSUM_BYTES = 8;

/** A token contains its run and a checksum, so closed tokens need not be stored to return the right error for them. */
export function createTaskTokens() {
  const run = randomBytes(RUN_BYTES);
  const waiting = new Map<string, WaitingTask>();
  return {
    issue(machineArn: string): string {
      const body = Buffer.concat([run, machineDigest(machineArn), randomBytes(RANDOM_BYTES)]);
      return Buffer.concat([body, checksum(body)]).toString('base64');
    },
    /** Does not check the checksum. */
    wasIssuedBy(token: unknown, machineArn: string): boolean {
      const bytes = Buffer.from(String(token), 'base64');
      return bytes.subarray(RUN_BYTES, RUN_BYTES + MACHINE_BYTES).equals(machineDigest(machineArn));
    },
    open: (token: string, task: WaitingTask) => void waiting.set(token, task),
    close: (token: string) => void waiting.delete(token),
    /** @throws AwsJsonError InvalidToken, TaskTimedOut or TaskDoesNotExist */
    find(token: unknown): WaitingTask {
      const task = waiting.get(String(token));
      if (task) return task;
      const bytes = Buffer.from(String(token), 'base64');
      const body = bytes.subarray(0, -CHECKSUM_BYTES);
      if (!bytes.subarray(-CHECKSUM_BYTES).equals(checksum(body)))
        throw new AwsJsonError('InvalidToken', "Invalid Token: 'Invalid token'");
      if (body.subarray(0, RUN_BYTES).equals(run))
        throw new AwsJsonError('TaskTimedOut', "Task Timed Out: 'Provided task does not exist anymore'");
      throw new AwsJsonError('TaskDoesNotExist', "Task does not exist: 'Its execution ended with its run'");
    },
  };
}

const machineDigest = (machineArn: string): Buffer =>
  createHash('sha256').update(machineArn).digest().subarray(0, MACHINE_BYTES);

const checksum = (body: Buffer): Buffer =>
  createHash('sha256').update('task token').update(body).digest().subarray(0, CHECKSUM_BYTES);

export type TaskTokens = ReturnType<typeof createTaskTokens>;

export const taskOperations = (tokens: TaskTokens): Record<string, AwsJsonOperation> => ({
  SendTaskSuccess({ taskToken, output }) {
    tokens.find(taskToken).succeed(readJson(output, 'InvalidOutput'));
    tokens.close(String(taskToken));
    return {};
  },

  SendTaskFailure({ taskToken, error, cause }) {
    tokens.find(taskToken).fail(String(error ?? 'States.TaskFailed'), String(cause ?? ''));
    tokens.close(String(taskToken));
    return {};
  },
});

/** @throws AwsJsonError `errorName` if the text has more than 256 KiB or is not JSON */
export function readJson(text: unknown, errorName: string): unknown {
  if (typeof text !== 'string' || Buffer.byteLength(text) > STATE_BYTES)
    throw new AwsJsonError(errorName, `${errorName}: at most ${STATE_BYTES} bytes of JSON text are allowed`);
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new AwsJsonError(errorName, `${errorName}: ${(error as Error).message}`);
  }
}
