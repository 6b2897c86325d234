import type { Batch } from './batch.ts';
import type { BatchServices } from './services.ts';

/**
 * Lets the workflow look at its batch again. A wake says nothing, so one too many does no harm; a wait that began a
 * moment ago has another token, which is looked up once.
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
