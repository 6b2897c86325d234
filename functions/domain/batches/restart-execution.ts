import type { PlatformServices } from '#domain/platform/services.ts';
import type { Batch } from './batch.ts';
import type { BatchServices } from './services.ts';

/**
 * Starts the execution of a batch if it was never started. If the execution has ended before its batch or webhook,
 * starts the execution with the next number.
 * @returns whether the batch had an execution, and has another one now
 */
export const restartExecution =
  (services: Pick<BatchServices, 'batchWorkflow' | 'batches'> & Pick<PlatformServices, 'log'>) =>
  async (batch: Batch): Promise<boolean> => {
    const state = await services.batchWorkflow.stateOf(batch);
    if (state === 'running') return false;
    if (state === 'none') {
      await services.batchWorkflow.start(batch);
      // If requests were enqueued, an earlier execution existed: this one replaces it, and was numbered but never
      // started.
      return batch.dispatchedAt !== null;
    }
    const restarted = await services.batches.incrementExecutionNumber(batch);
    // Another call starts it.
    if (restarted === undefined) return false;
    services.log.warn('A batch is taken up by a new execution', {
      batchId: batch.id,
      executionNumber: restarted.executionNumber,
    });
    await services.batchWorkflow.start(restarted);
    return true;
  };
