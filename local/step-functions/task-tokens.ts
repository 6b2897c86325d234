import { createHash, randomBytes } from 'node:crypto';
import { AwsJsonError } from '../wire/serve-aws-json.ts';

/** What waits for a token's answer. */
export interface WaitingTask {
  succeed(output: unknown): void;
  fail(error: string, cause: string): void;
}

export interface TaskTokens {
  draw(): string;
  open(token: string, task: WaitingTask): void;
  close(token: string): void;
  /** The task that waits; or the error that AWS answers. */
  find(token: unknown): WaitingTask;
}

const RUN_BYTES = 8;
const RANDOM_BYTES = 24;
const CHECK_BYTES = 8;

/** Tokens tell by themselves whether they were ever given out and in which run, so closed ones need not be kept. */
export function createTaskTokens(): TaskTokens {
  const run = randomBytes(RUN_BYTES);
  const waiting = new Map<string, WaitingTask>();
  return {
    draw() {
      const body = Buffer.concat([run, randomBytes(RANDOM_BYTES)]);
      return Buffer.concat([body, check(body)]).toString('base64');
    },
    open: (token, task) => void waiting.set(token, task),
    close: (token) => void waiting.delete(token),
    find(token) {
      const task = waiting.get(String(token));
      if (task) return task;
      const bytes = Buffer.from(String(token), 'base64');
      const body = bytes.subarray(0, -CHECK_BYTES);
      if (body.length !== RUN_BYTES + RANDOM_BYTES || !bytes.subarray(-CHECK_BYTES).equals(check(body))) {
        throw new AwsJsonError('InvalidToken', "Invalid Token: 'Invalid token'");
      }
      if (body.subarray(0, RUN_BYTES).equals(run)) {
        throw new AwsJsonError('TaskTimedOut', "Task Timed Out: 'Provided task does not exist anymore'");
      }
      throw new AwsJsonError('TaskDoesNotExist', "Task does not exist: 'Its execution ended with its run'");
    },
  };
}

function check(body: Buffer): Buffer {
  return createHash('sha256').update('task token').update(body).digest().subarray(0, CHECK_BYTES);
}
