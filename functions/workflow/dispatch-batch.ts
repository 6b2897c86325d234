import { dispatchBatch } from '#domain/batches/advance-batch.ts';
import { queueServices } from '#runtime/composition/services.ts';
import { observed } from '#runtime/observability/observed.ts';

export const handler = observed((input: Parameters<typeof dispatchBatch>[1]) =>
  dispatchBatch(queueServices(), input),
);
