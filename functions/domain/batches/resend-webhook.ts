import type { DeliveryOwner, WebhookDelivery } from '#domain/webhooks/webhook-delivery.ts';
import type { Services } from './services.ts';

/**
 * Sends the event of a batch once more, with the same event id and a new schedule, whatever the state of the last
 * delivery. An execution that still waits for an earlier attempt continues from the same stored delivery, and does no
 * harm.
 */
export async function resendWebhook(
  services: Services<'batchWorkflow' | 'batches' | 'clock' | 'deliveries'>,
  owner: DeliveryOwner,
): Promise<WebhookDelivery> {
  const [batch, delivery] = await Promise.all([
    services.batches.get(owner.workspaceId, owner.batchId),
    services.deliveries.get(owner),
  ]);
  if (batch === undefined || delivery === undefined)
    throw new Error(
      `Nothing to send: batch ${owner.batchId} has not ended with an event that its webhook wants`,
    );
  const restarted = await services.deliveries.restart(delivery, services.clock.now().toISOString());
  if (restarted === undefined)
    throw new Error(`The event of batch ${owner.batchId} is being sent again already`);
  // If this fails, the reconciler finds the pending delivery and starts an execution.
  const incremented = await services.batches.incrementExecutionNumber(batch);
  if (incremented !== undefined) await services.batchWorkflow.start(incremented);
  return restarted;
}
