import { reconcileBatches } from '#domain/batches/reconcile-batches.ts';
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
} from '#runtime/composition/services.ts';
import { measurements } from '#runtime/observability/invocation.ts';
import { observed } from '#runtime/observability/observed.ts';

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

/** Repairs batches and webhooks after crashes and outages. */
export const handler = observed(async (_event: unknown): Promise<void> => {
  const { overdue } = await reconcile();
  measurements.add('overdueBatches', overdue, {});
});
