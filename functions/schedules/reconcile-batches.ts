import { reconcileBatches } from '#domain/reconcile-batches.ts';
import { measurements } from '#runtime/invocation.ts';
import { observed } from '#runtime/observed.ts';
import {
  batches,
  batchQueue,
  batchWorkflow,
  clock,
  log,
  queueSettings,
  replySettings,
} from '#runtime/services.ts';

const reconcile = reconcileBatches({
  batches: batches(),
  batchQueue: batchQueue(),
  batchWorkflow: batchWorkflow(),
  clock,
  log,
  queueSettings: queueSettings(),
  replySettings: replySettings(),
});

/** Takes up what a crash has left lying. */
export const handler = observed(async (_event: unknown): Promise<void> => {
  const { overdue } = await reconcile();
  measurements.add('overdueBatches', overdue, {});
});
