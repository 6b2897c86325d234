import type { AwsJsonOperation } from '../wire/serve-aws-json.ts';
import { readJson } from './read-json.ts';
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
