import { isServerError, isThrottlingError, isTransientError } from '@smithy/core/retry';
import type { Context } from 'aws-lambda';
import { isConflict } from '#adapters/dynamo/table/transact-with-retry.ts';
import { serviceUnavailable } from '#runtime/environment/variables.ts';
import { endInvocation, runInvocation } from './invocation.ts';
import { log } from './log.ts';

/**
 * For functions that the gateway does not invoke. Their clients with `DeadlineRetries` retry until the timeout is near.
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
 * Lambda logs a thrown error with all its properties, and errors of AWS may contain items of the table. The workflow
 * decides by the name how often to retry.
 */
function withoutProperties(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack } = error;
  return Object.assign(new Error(message), { name: isTransient(error) ? serviceUnavailable : name, stack });
}

function isTransient(error: Error): boolean {
  const ofSdk = error as Parameters<typeof isTransientError>[0];
  return isThrottlingError(ofSdk) || isTransientError(ofSdk) || isServerError(ofSdk) || isConflict(error);
}

function namesIn(event: unknown): { workspace_id: string | undefined; batch_id: string | undefined } {
  const { workspaceId, batchId } = (event ?? {}) as { workspaceId?: unknown; batchId?: unknown };
  return {
    workspace_id: typeof workspaceId === 'string' ? workspaceId : undefined,
    batch_id: typeof batchId === 'string' ? batchId : undefined,
  };
}
