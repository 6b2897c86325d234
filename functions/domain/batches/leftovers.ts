import type { BatchItem, ManifestEntry, Slot } from './batch.ts';
import { successorsIn } from './batch.ts';

/** What the former owners of a slot have left. */
export interface Leftovers {
  /** Started, and not ended: their worker was lost, or handed back. */
  lost: BatchItem[];
  waiting: BatchItem[];
  /** Requests whose predecessor in the history has ended. */
  ready: number[];
  /** Requests of the last take that have no item. No other worker has them. */
  withoutItem: number[];
}

/**
 * Finds the leftovers of a slot in one scan, because requests belong for ever to the slot that has started them.
 * @param slot as its last owner has left it
 * @param items of the batch
 */
export function leftoversOf(
  slot: Slot,
  number: number,
  items: readonly BatchItem[],
  manifest: readonly ManifestEntry[],
): Leftovers {
  const found: Leftovers = { lost: [], waiting: [], ready: [], withoutItem: [] };
  const withItem = new Set(items.map(({ requestIndex }) => requestIndex));
  for (const item of items.filter((each) => each.slot === number)) {
    const { requestIndex, status, attempt } = item;
    const next = manifest[requestIndex]?.next ?? null;
    if (status === 'processing') found.lost.push(item);
    else if (status === 'waiting')
      ((slot.named[requestIndex] ?? 0) > attempt ? found.lost : found.waiting).push(item);
    else if (next !== null && !withItem.has(next) && !(next in slot.named)) found.ready.push(next);
  }
  const successors = successorsIn(manifest);
  const block = Array.from({ length: slot.size }, (_, index) => slot.first + index).filter(
    (requestIndex) => requestIndex < manifest.length && !successors.has(requestIndex),
  );
  found.withoutItem = [...block, ...Object.keys(slot.named).map(Number)].filter(
    (requestIndex) => !withItem.has(requestIndex),
  );
  // The requests that have lost the most workers come last: one of them may kill its worker.
  found.lost.sort((one, other) => one.lostAttempts - other.lostAttempts);
  return found;
}
