import { createHash, randomBytes } from 'node:crypto';
import { AwsJsonError } from '../wire/serve-aws-json.ts';

/** What waits for a token's answer. */
export interface WaitingTask {
  succeed(output: unknown): void;
  fail(error: string, cause: string): void;
}

export interface TaskTokens {
  draw(machineArn: string): string;
  /** Whether a token was given out for this machine, in this run or an earlier one. */
  isOf(token: unknown, machineArn: string): boolean;
  open(token: string, task: WaitingTask): void;
  close(token: string): void;
  /** The task that waits; or the error that AWS answers. */
  find(token: unknown): WaitingTask;
}

const RUN_BYTES = 8;
const MACHINE_BYTES = 8;
const RANDOM_BYTES = 16;
const CHECK_BYTES = 8;

/** Tokens tell by themselves whether they were ever given out and in which run, so closed ones need not be kept. */
export function createTaskTokens(): TaskTokens {
  const run = randomBytes(RUN_BYTES);
  const waiting = new Map<string, WaitingTask>();
  return {
    draw(machineArn) {
      const body = Buffer.concat([run, markOf(machineArn), randomBytes(RANDOM_BYTES)]);
      return Buffer.concat([body, check(body)]).toString('base64');
    },
    isOf(token, machineArn) {
      const bytes = Buffer.from(String(token), 'base64');
      return bytes.subarray(RUN_BYTES, RUN_BYTES + MACHINE_BYTES).equals(markOf(machineArn));
    },
    open: (token, task) => void waiting.set(token, task),
    close: (token) => void waiting.delete(token),
    find(token) {
      const task = waiting.get(String(token));
      if (task) return task;
      const bytes = Buffer.from(String(token), 'base64');
      const body = bytes.subarray(0, -CHECK_BYTES);
      if (
        body.length !== RUN_BYTES + MACHINE_BYTES + RANDOM_BYTES ||
        !bytes.subarray(-CHECK_BYTES).equals(check(body))
      ) {
        throw new AwsJsonError('InvalidToken', "Invalid Token: 'Invalid token'");
      }
      if (body.subarray(0, RUN_BYTES).equals(run)) {
        throw new AwsJsonError('TaskTimedOut', "Task Timed Out: 'Provided task does not exist anymore'");
      }
      throw new AwsJsonError('TaskDoesNotExist', "Task does not exist: 'Its execution ended with its run'");
    },
  };
}

function markOf(machineArn: string): Buffer {
  return createHash('sha256').update(machineArn).digest().subarray(0, MACHINE_BYTES);
}

function check(body: Buffer): Buffer {
  return createHash('sha256').update('task token').update(body).digest().subarray(0, CHECK_BYTES);
}
