import { isServerError, isThrottlingError, isTransientError } from '@smithy/core/retry';
import type { Context } from 'aws-lambda';
import { isConflict } from '#adapters/dynamo/table/table.ts';
import { retryWhile } from '#runtime/environment/deadline-retries.ts';
import { serviceUnavailable } from '#runtime/environment/variables.ts';
import { endInvocation, startInvocation } from './invocation.ts';
import { log } from './log.ts';

/** The Lambda behind a queue, a schedule or the workflow: its lines tell which invocation they are of, and its figures come at its end. */
export const observed =
  <Event, Result>(handler: (event: Event) => Promise<Result>) =>
  async (event: Event, context: Context): Promise<Result> => {
    retryWhile(() => context.getRemainingTimeInMillis());
    startInvocation(context, { request_id: context.awsRequestId, ...namesIn(event) });
    let outcome: 'ok' | 'fault' = 'fault';
    try {
      const result = await handler(event);
      outcome = 'ok';
      return result;
    } catch (error) {
      log.error('An invocation failed', { error });
      throw bare(error);
    } finally {
      await endInvocation(outcome);
    }
  };

/**
 * Lambda logs what a function throws with all its properties, and in those of AWS's errors are rows of the table. Of the
 * name, the workflow knows whether another attempt may succeed.
 */
function bare(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack } = error;
  return Object.assign(new Error(message), { name: isTransient(error) ? serviceUnavailable : name, stack });
}

/** AWS throttles, or does not answer, or others were writing the same items for too long. */
function isTransient(error: Error): boolean {
  const ofSdk = error as Parameters<typeof isTransientError>[0];
  return isThrottlingError(ofSdk) || isTransientError(ofSdk) || isServerError(ofSdk) || isConflict(error);
}

/** Of an event that is about one workspace, and perhaps one of its batches. */
function namesIn(event: unknown): { workspace_id: string | undefined; batch_id: string | undefined } {
  const { workspaceId, batchId } = (event ?? {}) as { workspaceId?: unknown; batchId?: unknown };
  return {
    workspace_id: typeof workspaceId === 'string' ? workspaceId : undefined,
    batch_id: typeof batchId === 'string' ? batchId : undefined,
  };
}
