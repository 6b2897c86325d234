import { ServiceError } from '#contract/errors.ts';
import type { Services } from '#domain/services.ts';
import type { Batch } from './batch.ts';

/** @throws notFound `Batch not found` */
export const findBatch =
  (services: Pick<Services, 'batches'>) =>
  async (workspaceId: string, batchId: string): Promise<Batch> => {
    const batch = await services.batches.get(workspaceId, batchId);
    if (batch === undefined) throw new ServiceError('notFound', 'Batch not found');
    return batch;
  };
