import type { Batch } from './batch.ts';
import type { Services } from './services.ts';

/**
 * Starts the execution of a batch if it was never started. If the execution has ended before its batch or webhook,
 * starts the execution with the next number.
 */
export async function restartExecution(
  services: Services<'batchWorkflow' | 'batches' | 'log'>,
  batch: Batch,
): Promise<void> {
  const state = await services.batchWorkflow.stateOf(batch);
  if (state === 'running') return;
  if (state === 'none') return services.batchWorkflow.start(batch);
  const restarted = await services.batches.incrementExecutionNumber(batch);
  // Another call starts it.
  if (restarted === undefined) return;
  services.log.warn('A batch is taken up by a new execution', {
    batchId: batch.id,
    executionNumber: restarted.executionNumber,
  });
  await services.batchWorkflow.start(restarted);
}
