import type { Context } from 'aws-lambda';
import { reconcileBatches } from '#domain/reconcile-batches.ts';
import { beginInvocation, endInvocation, measurements } from '#runtime/invocation.ts';
import { batches, batchQueue, batchWorkflow, clock, log, replySettings } from '#runtime/services.ts';

const reconcile = reconcileBatches({
  batches: batches(),
  batchQueue: batchQueue(),
  batchWorkflow: batchWorkflow(),
  clock,
  log,
  replySettings: replySettings(),
});

/** Takes up what a crash has left lying. */
export const handler = async (_event: unknown, context: Context): Promise<void> => {
  beginInvocation(context, { request_id: context.awsRequestId, workspace_id: undefined });
  const { overdue } = await reconcile();
  measurements.add('overdueBatches', overdue, {});
  endInvocation();
};
