import { dispatchBatch } from '#domain/batches/dispatch-batch.ts';
import { batches, batchQueue, batchWorkflow, clock, queueSettings } from '#runtime/composition/services.ts';
import { observed } from '#runtime/observability/observed.ts';

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
