import { type Batch, groupsOf, requestsPerGroup } from './batch.ts';
import type { QueuedRequests } from './batch-queue.ts';
import type { BatchServices } from './services.ts';

/** Messages for requests of a batch, ten requests each unless `size` says otherwise. */
export function messagesFor(
  { workspaceId, id: batchId }: Pick<Batch, 'workspaceId' | 'id'>,
  requestIndexes: readonly number[],
  options: { holdsPlace: boolean; size?: number },
): QueuedRequests[] {
  const { holdsPlace, size = requestsPerGroup } = options;
  const messages: QueuedRequests[] = [];
  for (let first = 0; first < requestIndexes.length; first += size)
    messages.push({ workspaceId, batchId, positions: requestIndexes.slice(first, first + size), holdsPlace });
  return messages;
}

/** The messages of the groups `first` to `end` - 1 of a batch, in input order. */
export function groupMessages(batch: Batch, first: number, end: number): QueuedRequests[] {
  const from = first * requestsPerGroup;
  const to = Math.min(end * requestsPerGroup, batch.total);
  const requestIndexes = Array.from({ length: Math.max(to - from, 0) }, (_, index) => from + index);
  return messagesFor(batch, requestIndexes, { holdsPlace: true });
}

/**
 * The in-flight message slots that a batch may use now: an equal share of the slots of its workspace, at least one, so
 * that every batch makes progress.
 */
export async function slotsOf(
  { batches, queueSettings }: Pick<BatchServices, 'batches' | 'queueSettings'>,
  { workspaceId }: Batch,
): Promise<number> {
  const open = await batches.countOpen(workspaceId);
  return Math.max(Math.floor(queueSettings.workspaceSlots / Math.max(open, 1)), 1);
}

/**
 * Workers that a batch can use: a worker claims two groups at once, so it can use one for two groups that are left.
 * @param slotLimit the slots that the batch may use (`slotsOf`)
 */
export const slotsFor = (batch: Batch, slotLimit: number): number =>
  Math.min(slotLimit, Math.ceil(groupsLeft(batch) / 2));

export const groupsLeft = (batch: Batch): number => groupsOf(batch) - batch.groupsSent;
