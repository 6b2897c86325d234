import { dispatchBatch } from '#domain/batches/dispatch-batch.ts';
import { batches, batchQueue, batchWorkflow, clock, queueSettings } from '#runtime/composition/services.ts';
import { observed } from '#runtime/observability/observed.ts';

/** Starts the wait of the workflow, which the worker of the last request ends. */
export const handler = observed(
  dispatchBatch({
    batches: batches(),
    batchQueue: batchQueue(),
    batchWorkflow: batchWorkflow(),
    clock,
    queueSettings: queueSettings(),
  }),
);
