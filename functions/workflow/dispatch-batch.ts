import { dispatchBatch } from '#domain/batches/dispatch-batch.ts';
import { queueServices } from '#runtime/composition/services.ts';
import { observed } from '#runtime/observability/observed.ts';

/**
 * Stores the task token of the workflow's wait, and enqueues the first requests. The worker of the last request ends
 * the wait.
 */
export const handler = observed(dispatchBatch(queueServices()));
