import { ServiceError } from '#contract/errors.ts';
import type { DeliveryOwner, WebhookDelivery } from '#domain/webhooks/services.ts';
import type { AwaitRateLimit } from '#domain/workspaces/rate-limits.ts';
import type { Batch } from './batch.ts';
import type { Services } from './batch-store.ts';
import { countBatch, findBatch } from './read-batches.ts';
import { completeTaskCallback } from './slots.ts';

/**
 * Running requests continue (specification, section 3.1).
 * @throws notFound `Batch not found`, then rateLimited, then badRequest if the batch is not in progress
 */
export async function cancelBatch(
  services: Services<'batchWorkflow' | 'batches' | 'clock' | 'log'>,
  workspaceId: string,
  batchId: string,
  awaitRateLimit: AwaitRateLimit,
): Promise<Batch> {
  const found = await findBatch(services, workspaceId, batchId);
  await awaitRateLimit();
  const stop = { reason: 'cancelled', at: services.clock.now().toISOString() } as const;
  const stopped = found.status === 'in_progress' ? await services.batches.stop(found, stop) : undefined;
  if (stopped === undefined) {
    const { status } = await findBatch(services, workspaceId, batchId);
    throw new ServiceError('badRequest', `Only a batch in progress can be cancelled; this one is ${status}`);
  }
  await completeTaskCallback(services, stopped).catch((error: unknown) =>
    // The stop is stored. The last worker to end, or the reconciler, completes the callback.
    services.log.warn('The workflow of a cancelled batch was not woken', { batchId, error }),
  );
  return countBatch(services, stopped);
}

/**
 * Starts to send the event of a batch once more, with the same event id. An execution that still waits for an earlier
 * attempt does no harm: it uses the same stored delivery, whose attempts start by a conditional write.
 * @throws Error if the batch has no delivery, or `restart` returns undefined
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
