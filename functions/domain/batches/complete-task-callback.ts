import type { Batch } from './batch.ts';
import type { BatchServices } from './services.ts';

/**
 * Completes the callback of the workflow's task, so that the workflow checks the batch. A needless call does no harm.
 * If the token is out of date, the current one is read once.
 */
export const completeTaskCallback =
  (services: Pick<BatchServices, 'batchWorkflow' | 'batches'>) =>
  async (batch: Batch): Promise<void> => {
    const completed =
      batch.taskToken !== null && (await services.batchWorkflow.completeTaskCallback(batch.taskToken));
    if (completed) return;
    const current = await services.batches.get(batch.workspaceId, batch.id);
    if (current?.taskToken == null || current.taskToken === batch.taskToken) return;
    await services.batchWorkflow.completeTaskCallback(current.taskToken);
  };
