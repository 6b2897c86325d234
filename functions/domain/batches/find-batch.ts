import { ServiceError } from '#contract/errors.ts';
import type { Batch } from './batch.ts';
import type { BatchServices } from './services.ts';

/** @throws notFound `Batch not found` */
export const findBatch =
  (services: Pick<BatchServices, 'batches'>) =>
  async (workspaceId: string, batchId: string): Promise<Batch> => {
    const batch = await services.batches.get(workspaceId, batchId);
    if (batch === undefined) throw new ServiceError('notFound', 'Batch not found');
    return batch;
  };
