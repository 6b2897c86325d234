import { reconcileBatches } from '#domain/batches/reconcile-batches.ts';
import {
  deliveries,
  log,
  queueServices,
  reconciliationIndex,
  replySettings,
} from '#runtime/composition/services.ts';
import { measurements } from '#runtime/observability/invocation.ts';
import { observed } from '#runtime/observability/observed.ts';

const reconcile = reconcileBatches({
  ...queueServices(),
  deliveries: deliveries(),
  log,
  reconciliationIndex: reconciliationIndex(),
  replySettings: replySettings(),
});

/** Repairs batches and webhooks after crashes and outages. */
export const handler = observed(async (_event: unknown): Promise<void> => {
  const { overdue } = await reconcile();
  measurements.add('overdueBatches', overdue, {});
});
