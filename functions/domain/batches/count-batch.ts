import { type Batch, type BatchItem, isOpen, outcomeOf } from './batch.ts';
import type { BatchServices } from './services.ts';

/** Batches that are counted concurrently. Each needs up to ten queries at once, with a page for each 1 MB of items. */
const batchesAtOnce = 8;

/** Counts the requests of a batch by the rule of their results. */
function countsOf(
  batch: Pick<Batch, 'stop' | 'total'>,
  items: readonly BatchItem[],
): Pick<Batch, 'completed' | 'failed'> {
  const ended = { success: 0, failed: 0, pending: 0, processing: 0 };
  for (const item of items) ended[outcomeOf(batch, item).status] += 1;
  // Requests that were never claimed have no item.
  ended[outcomeOf(batch, undefined).status] += batch.total - items.length;
  return { completed: ended.success, failed: ended.failed };
}

/**
 * The batch with its current counts. A later read of the results shows at least as many ended requests (specification,
 * section 2.9). For an ended batch, the stored counts are used.
 * @param batch read before this call
 */
export const countBatch =
  (services: Pick<BatchServices, 'batches'>) =>
  async (batch: Batch): Promise<Batch> =>
    isOpen(batch) ? { ...batch, ...countsOf(batch, await services.batches.allItems(batch)) } : batch;

export const countBatches =
  (services: Pick<BatchServices, 'batches'>) =>
  async (batches: readonly Batch[]): Promise<Batch[]> => {
    const counted: Batch[] = [];
    for (let first = 0; first < batches.length; first += batchesAtOnce)
      counted.push(
        ...(await Promise.all(batches.slice(first, first + batchesAtOnce).map(countBatch(services)))),
      );
    return counted;
  };
