import { AwsJsonError, type AwsJsonOperation } from '../wire/serve-aws-json.ts';
import { STATE_BYTES } from './invoke-function.ts';
import type { TaskTokens } from './task-tokens.ts';

/** The operations of Step Functions that a task calls with its token. */
export const taskOperations = (tokens: TaskTokens): Record<string, AwsJsonOperation> => ({
  SendTaskSuccess({ taskToken, output }) {
    const task = tokens.find(taskToken);
    task.succeed(readJson(output, 'InvalidOutput'));
    tokens.close(String(taskToken));
    return {};
  },

  SendTaskFailure({ taskToken, error, cause }) {
    tokens.find(taskToken).fail(String(error ?? 'States.TaskFailed'), String(cause ?? ''));
    tokens.close(String(taskToken));
    return {};
  },
});

/** @throws AwsJsonError with this name if the text is too long or not JSON */
export function readJson(text: unknown, errorName: string): unknown {
  if (typeof text !== 'string' || Buffer.byteLength(text) > STATE_BYTES) {
    throw new AwsJsonError(errorName, `${errorName}: at most ${STATE_BYTES} bytes of JSON text are allowed`);
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new AwsJsonError(errorName, `${errorName}: ${(error as Error).message}`);
  }
}
