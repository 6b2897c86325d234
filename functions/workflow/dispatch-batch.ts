import { dispatchBatch } from '#domain/dispatch-batch.ts';
import { observed } from '#runtime/observed.ts';
import { batches, batchQueue, batchWorkflow, clock, queueSettings } from '#runtime/services.ts';

/** Begins a wait of the workflow: whoever ends the last request of the batch wakes it. */
export const handler = observed(
  dispatchBatch({
    batches: batches(),
    batchQueue: batchQueue(),
    batchWorkflow: batchWorkflow(),
    clock,
    queueSettings: queueSettings(),
  }),
);
