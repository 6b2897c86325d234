import type { PlatformServices } from '#domain/platform/services.ts';
import { type Batch, type BatchItem, type BatchRequest, isOpen } from './batch.ts';
import type { QueuedRequests } from './batch-queue.ts';
import { BatchWorker, type WorkerServices } from './batch-worker.ts';
import { failOfDisabled } from './fail-of-disabled.ts';
import { messagesFor } from './send-requests.ts';
import type { BatchServices } from './services.ts';

export type ProcessServices = WorkerServices &
  Pick<BatchServices, 'batchQueue' | 'batchWorkflow'> &
  Pick<PlatformServices, 'log'>;

/** Milliseconds that the clocks of two functions may differ: less than the shortest wait. */
const clockDifference = 1000;

/**
 * Processes the requests of a queue message, and then further requests of the batch (batch-worker.ts). Each request
 * ends once, however often the queue delivers the message. If this function dies, other deliveries continue.
 * @param isRedelivered whether the queue has delivered the message before
 * @returns false if the queue must deliver the message again
 */
export const processBatchItems =
  (services: ProcessServices) =>
  async (message: QueuedRequests, isRedelivered: boolean): Promise<boolean> => {
    try {
      return await processMessage(services, message, isRedelivered);
    } catch (error) {
      services.log.error('Requests of a batch were not handled', { batchId: message.batchId, error });
      return false;
    }
  };

async function processMessage(
  services: ProcessServices,
  message: QueuedRequests,
  isRedelivered: boolean,
): Promise<boolean> {
  const { workspaceId, batchId, positions: requestIndexes } = message;
  const batch = await services.batches.get(workspaceId, batchId);
  // The queue may deliver a message long after its batch has ended.
  if (batch === undefined || !isOpen(batch)) return true;
  if (batch.stop !== null) return true;
  const [workspace, items, requests] = await Promise.all([
    services.workspaces.get(workspaceId),
    services.batches.items(batch, requestIndexes),
    services.batches.requests(batch, requestIndexes),
  ]);
  if (workspace?.enabled !== true) {
    await failOfDisabled(services, batch);
    return true;
  }
  // Finished, running or scheduled items need nothing: this message is a duplicate.
  const now = services.clock.now();
  const itemAt = new Map(requestIndexes.map((requestIndex, index) => [requestIndex, items[index]]));
  const claimable = requests.filter(({ requestIndex }) => isReady(itemAt.get(requestIndex), now));
  if (claimable.length === 0) return true;
  if (isRedelivered && claimable.length > 1) {
    await sendOneByOne(services, batch, message, claimable);
    return true;
  }
  const isSuspect =
    isRedelivered || claimable.some(({ requestIndex }) => itemAt.get(requestIndex)?.status === 'processing');
  const found = { requests: claimable, itemAt, hasSlot: message.holdsPlace, isSuspect };
  return new BatchWorker(services, batch, workspace, found).run();
}

/**
 * Sends each request in its own message. One of them may have killed the last worker; alone, it cannot harm the others.
 */
async function sendOneByOne(
  services: ProcessServices,
  batch: Batch,
  { holdsPlace }: QueuedRequests,
  claimable: readonly BatchRequest[],
): Promise<void> {
  const requestIndexes = claimable.map(({ requestIndex }) => requestIndex);
  await services.batchQueue.send(messagesFor(batch, requestIndexes, { holdsPlace, size: 1 }));
  if (holdsPlace)
    await services.batches.recordOutcomes(batch, {
      completed: 0,
      failed: 0,
      slots: requestIndexes.length - 1,
    });
}

/**
 * A waiting request has a delayed message of its own. If a duplicate message claimed it earlier, there would be two
 * messages, and four after the next attempt.
 */
function isReady(item: BatchItem | undefined, now: Date): boolean {
  if (item === undefined) return true;
  if (item.status === 'waiting') return item.leaseUntil - clockDifference <= now.getTime();
  return item.status === 'processing' && item.leaseUntil < now.getTime();
}
