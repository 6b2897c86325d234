import { ServiceError } from '#contract/errors.ts';
import type { Batch } from './batch.ts';
import type { Services } from './services.ts';

/** @throws notFound `Batch not found` */
export async function findBatch(
  services: Services<'batches'>,
  workspaceId: string,
  batchId: string,
): Promise<Batch> {
  const batch = await services.batches.get(workspaceId, batchId);
  if (batch === undefined) throw new ServiceError('notFound', 'Batch not found');
  return batch;
}
