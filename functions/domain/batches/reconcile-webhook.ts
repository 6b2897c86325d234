import type { PlatformServices } from '#domain/platform/services.ts';
import type { WebhookServices } from '#domain/webhooks/services.ts';
import type { WebhookEntry } from './reconciliation-index.ts';
import { restartExecution } from './restart-execution.ts';
import type { BatchServices } from './services.ts';

/**
 * Checks a webhook with a due index entry. Removes the entry if the delivery has ended. Corrects the entry's due
 * time if the delivery has a later one. Otherwise the attempt is overdue: starts an execution if the batch has none.
 * @param until ISO 8601. Attempts that were due before this time should have been made
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
