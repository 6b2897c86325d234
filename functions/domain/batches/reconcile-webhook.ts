import type { PlatformServices } from '#domain/platform/services.ts';
import type { WebhookServices } from '#domain/webhooks/services.ts';
import type { WebhookEntry } from './reconciliation-index.ts';
import { restartExecution } from './restart-execution.ts';
import type { BatchServices } from './services.ts';

/**
 * Checks a webhook by the entry that was found due: the entry of a settled delivery is removed, an older time is
 * corrected from the delivery, and an attempt that is overdue gets an execution when it has none.
 * @param until attempts that were due before have had time to be made, ISO 8601
 */
export const reconcileWebhook =
  (
    services: Pick<BatchServices, 'batchWorkflow' | 'batches' | 'reconciliationIndex'> &
      Pick<WebhookServices, 'deliveries'> &
      Pick<PlatformServices, 'clock' | 'log'>,
  ) =>
  async (entry: WebhookEntry, until: string): Promise<void> => {
    const { batches, clock, deliveries, reconciliationIndex } = services;
    const delivery = await deliveries.get(entry);
    if (delivery?.state !== 'pending') return reconciliationIndex.removeWebhook(entry);
    if (delivery.nextAt > until) return reconciliationIndex.moveWebhook(entry, delivery.nextAt);
    const batch = await batches.get(entry.workspaceId, entry.batchId);
    if (batch === undefined) throw new Error(`There is no batch ${entry.batchId}`);
    await restartExecution(services)(batch);
    await reconciliationIndex.moveWebhook(entry, clock.now().toISOString());
  };
