import { type Batch, isOpen, outcomeOf, successorsIn } from './batch.ts';
import type { Services } from './services.ts';

/** Batches that are counted concurrently. Each needs up to ten queries at once, with a page for each 1 MB of items. */
const batchesAtOnce = 8;

/**
 * The batch with its current counts. A later read of the results shows at least as many ended requests (specification,
 * section 2.9). For an ended batch, the stored counts are used.
 * @param batch read before this call
 */
export async function countBatch(services: Services<'batches'>, batch: Batch): Promise<Batch> {
  // No request has started, so there is no item.
  if (!isOpen(batch) || (batch.next === 0 && batch.stop === null)) return batch;
  const items = await services.batches.allItems(batch);
  const completed = items.filter(({ status }) => status === 'success').length;
  if (batch.stop === null)
    return { ...batch, completed, failed: items.filter(({ status }) => status === 'failed').length };
  // Of the requests without an item, those that were not started have failed.
  const successors = successorsIn(await services.batches.manifest(batch));
  const itemAt = new Map(items.map((item) => [item.requestIndex, item]));
  const failed = Array.from({ length: batch.total }, (_, requestIndex) => requestIndex).filter(
    (index) => outcomeOf(batch, index, itemAt.get(index), successors.has(index)).status === 'failed',
  );
  return { ...batch, completed, failed: failed.length };
}

export async function countBatches(
  services: Services<'batches'>,
  batches: readonly Batch[],
): Promise<Batch[]> {
  const counted: Batch[] = [];
  for (let first = 0; first < batches.length; first += batchesAtOnce)
    counted.push(
      ...(await Promise.all(
        batches.slice(first, first + batchesAtOnce).map((batch) => countBatch(services, batch)),
      )),
    );
  return counted;
}
