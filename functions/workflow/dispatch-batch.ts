import { dispatchBatch } from '#domain/batches/advance-batch.ts';
import { queueServices } from '#runtime/composition/services.ts';
import { observed } from '#runtime/observability/observed.ts';

/**
 * Stores the task token of the workflow's wait, makes the slots of the batch, and sends their messages. The worker that
 * leaves the last slot ends the wait. If no work is left already, this function ends it.
 */
export const handler = observed((input: Parameters<typeof dispatchBatch>[1]) =>
  dispatchBatch(queueServices(), input),
);
