import type { BatchKey } from './batch-transitions.ts';
import type { BatchServices } from './services.ts';

/** Completes the callback of the workflow's task, so that the workflow checks the batch. A needless call does no harm. */
export const completeTaskCallback =
  (services: Pick<BatchServices, 'batchWorkflow' | 'batches'>) =>
  async (batch: BatchKey): Promise<void> => {
    const token = await services.batches.taskToken(batch);
    if (token !== undefined) await services.batchWorkflow.completeTaskCallback(token);
  };
