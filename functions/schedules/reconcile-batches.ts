import { reconcileBatches } from '#domain/reconcile-batches.ts';
import { measurements } from '#runtime/invocation.ts';
import { observed } from '#runtime/observed.ts';
import {
  batches,
  batchQueue,
  batchWorkflow,
  clock,
  deliveries,
  log,
  queueSettings,
  reconciliationIndex,
  replySettings,
} from '#runtime/services.ts';

const reconcile = reconcileBatches({
  batches: batches(),
  batchQueue: batchQueue(),
  batchWorkflow: batchWorkflow(),
  clock,
  deliveries: deliveries(),
  log,
  queueSettings: queueSettings(),
  reconciliationIndex: reconciliationIndex(),
  replySettings: replySettings(),
});

/** Takes up what crashes and outages have left of batches and webhooks. */
export const handler = observed(async (_event: unknown): Promise<void> => {
  const { overdue } = await reconcile();
  measurements.add('overdueBatches', overdue, {});
});
