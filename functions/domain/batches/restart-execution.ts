import type { PlatformServices } from '#domain/platform/services.ts';
import type { Batch } from './batch.ts';
import type { BatchServices } from './services.ts';

/**
 * Starts an execution that was never started. One that has ended, although its batch or its webhook has not, gets a
 * successor.
 * @returns whether the batch had an execution, and has another one now
 */
export const restartExecution =
  (services: Pick<BatchServices, 'batchWorkflow' | 'batches'> & Pick<PlatformServices, 'log'>) =>
  async (batch: Batch): Promise<boolean> => {
    const state = await services.batchWorkflow.stateOf(batch);
    if (state === 'running') return false;
    if (state === 'none') {
      await services.batchWorkflow.start(batch);
      // An earlier one enqueued requests, and ended; its successor was numbered and never started.
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
