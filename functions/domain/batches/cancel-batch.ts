import { ServiceError } from '#contract/errors.ts';
import type { AwaitRateLimit } from '#domain/workspaces/await-rate-limit.ts';
import type { Batch } from './batch.ts';
import { countBatch } from './count-batch.ts';
import { findBatch } from './find-batch.ts';
import type { Services } from './services.ts';
import { completeTaskCallback } from './slots.ts';

/**
 * Cancels a batch in progress (specification, section 3.1). Requests that were not started have failed, from now on or
 * since the batch expired.
 * @throws notFound, or badRequest in any other state
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
  try {
    await completeTaskCallback(services, stopped);
  } catch (error) {
    // The batch is cancelled; the reconciler completes the callback.
    services.log.warn('The workflow of a cancelled batch was not woken', { batchId, error });
  }
  return countBatch(services, stopped);
}
