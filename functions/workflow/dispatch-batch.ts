import { dispatchBatch } from '#domain/batches/dispatch-batch.ts';
import { batches, batchQueue, batchWorkflow, clock, queueSettings } from '#runtime/composition/services.ts';
import { observed } from '#runtime/observability/observed.ts';

/**
 * Stores the task token of the workflow's wait, and enqueues the first requests. The worker of the last request ends
 * the wait.
 */
export const handler = observed(
  dispatchBatch({
    batches: batches(),
    batchQueue: batchQueue(),
    batchWorkflow: batchWorkflow(),
    clock,
    queueSettings: queueSettings(),
  }),
);
