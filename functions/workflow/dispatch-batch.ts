import { dispatchBatch } from '#domain/batches/advance-batch.ts';
import { queueServices } from '#runtime/composition/services.ts';
import { observed } from '#runtime/observability/observed.ts';

/** Makes slots for the batch for which the workflow waits, or ends the wait if the workflow has something to do. */
export const handler = observed((input: Parameters<typeof dispatchBatch>[1]) =>
  dispatchBatch(queueServices(), input),
);
