import { isServerError, isThrottlingError, isTransientError } from '@smithy/core/retry';
import type { Context } from 'aws-lambda';
import { isConflict } from '#adapters/dynamo/table/transact-with-retry.ts';
import { serviceUnavailable } from '#runtime/environment/variables.ts';
import { endInvocation, runInvocation } from './invocation.ts';
import { log } from './log.ts';

/**
 * Makes the Lambda handler of a function that the gateway does not invoke: that of a queue, of a schedule, of the
 * workflow, or of a task. Log lines contain the invocation's ids; metrics and trace are published at the end. Clients
 * with `DeadlineRetries` retry their calls until the function's timeout is near.
 */
export const observed =
  <Event, Result>(handler: (event: Event) => Promise<Result>) =>
  (event: Event, context: Context): Promise<Result> =>
    runInvocation(
      {
        lambda: context,
        properties: { request_id: context.awsRequestId, ...namesIn(event) },
        remainingMilliseconds: () => context.getRemainingTimeInMillis(),
      },
      async () => {
        let outcome: 'ok' | 'fault' = 'fault';
        try {
          const result = await handler(event);
          outcome = 'ok';
          return result;
        } catch (error) {
          log.error('An invocation failed', { error });
          throw withoutProperties(error);
        } finally {
          await endInvocation(outcome);
        }
      },
    );

/**
 * Returns a copy of an error with only name, message and stack. Lambda logs a thrown error with all its properties, and
 * errors of AWS may contain items of the table. The workflow decides by the name whether to retry, so all temporary
 * errors get the name `serviceUnavailable`.
 */
function withoutProperties(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack } = error;
  return Object.assign(new Error(message), { name: isTransient(error) ? serviceUnavailable : name, stack });
}

/** Whether an error is temporary, such as a throttled call, or a conflict of concurrent writes in all attempts. */
function isTransient(error: Error): boolean {
  const ofSdk = error as Parameters<typeof isTransientError>[0];
  return isThrottlingError(ofSdk) || isTransientError(ofSdk) || isServerError(ofSdk) || isConflict(error);
}

/** Returns the log fields of an event that names a workspace, or a workspace and a batch. */
function namesIn(event: unknown): { workspace_id: string | undefined; batch_id: string | undefined } {
  const { workspaceId, batchId } = (event ?? {}) as { workspaceId?: unknown; batchId?: unknown };
  return {
    workspace_id: typeof workspaceId === 'string' ? workspaceId : undefined,
    batch_id: typeof batchId === 'string' ? batchId : undefined,
  };
}
