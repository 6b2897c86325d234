import { dispatchBatch } from '#domain/batches/advance-batch.ts';
import { queueServices } from '#runtime/composition/services.ts';
import { observed } from '#runtime/observability/observed.ts';

/**
 * Stores the task token of the workflow's wait and makes the slots of the batch, or ends the wait if the workflow has
 * something to do.
 */
export const handler = observed((input: Parameters<typeof dispatchBatch>[1]) =>
  dispatchBatch(queueServices(), input),
);
