import { type Batch, type BatchItem, isOpen, outcomeOf } from './batch.ts';
import type { BatchServices } from './services.ts';

/** Each takes up to ten queries at once, of one page for every 1 MB of items. */
const batchesAtOnce = 8;

/** What has become of a batch's requests, by the rule of their results. */
function tallyOf(
  batch: Pick<Batch, 'stop' | 'total'>,
  items: readonly BatchItem[],
): Pick<Batch, 'completed' | 'failed'> {
  const ended = { success: 0, failed: 0, pending: 0, processing: 0 };
  for (const item of items) ended[outcomeOf(batch, item).status] += 1;
  // Those that were never begun.
  ended[outcomeOf(batch, undefined).status] += batch.total - items.length;
  return { completed: ended.success, failed: ended.failed };
}

/**
 * The batch with the counts that its results tell from then on (specification, section 2.9). Those of a closed batch are
 * stored with it.
 * @param batch as it was read before
 */
export const tallyBatch =
  (services: Pick<BatchServices, 'batches'>) =>
  async (batch: Batch): Promise<Batch> =>
    isOpen(batch) ? { ...batch, ...tallyOf(batch, await services.batches.allItems(batch)) } : batch;

export const tallyBatches =
  (services: Pick<BatchServices, 'batches'>) =>
  async (batches: readonly Batch[]): Promise<Batch[]> => {
    const tallied: Batch[] = [];
    for (let first = 0; first < batches.length; first += batchesAtOnce)
      tallied.push(
        ...(await Promise.all(batches.slice(first, first + batchesAtOnce).map(tallyBatch(services)))),
      );
    return tallied;
  };
