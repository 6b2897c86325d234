import { reconcileBatches } from '#domain/reconcile-batches.ts';
import { batches, batchQueue, batchWorkflow, clock, log, replySettings } from '#runtime/services.ts';

/** Takes up what a crash has left lying. */
export const handler = reconcileBatches({
  batches: batches(),
  batchQueue: batchQueue(),
  batchWorkflow: batchWorkflow(),
  clock,
  log,
  replySettings: replySettings(),
});
