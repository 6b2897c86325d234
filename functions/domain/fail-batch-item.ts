import { type BatchItem, isOpen, mayBeOver } from './batch.ts';
import type { QueuedRequest } from './ports/batch-queue.ts';
import type { Services } from './services.ts';
import { wakeBatch } from './wake-batch.ts';

/**
 * Ends a request that the queue has given up, since it was delivered too often without an end. One that is over, or
 * being done after all, is left alone.
 */
export const failBatchItem =
  (services: Pick<Services, 'batchQueue' | 'batchWorkflow' | 'batches' | 'clock' | 'replySettings'>) =>
  async ({ workspaceId, batchId, position }: QueuedRequest): Promise<void> => {
    const batch = await services.batches.get(workspaceId, batchId);
    if (batch === undefined || !isOpen(batch) || batch.stop !== null) return;
    const [[item], [request]] = await Promise.all([
      services.batches.items(batch, [position]),
      services.batches.requests(batch, [position]),
    ]);
    if (request === undefined || item?.status === 'success' || item?.status === 'failed') return;
    const [held] = await services.batches.claim(batch, [{ request, item, newChat: null }], {
      milliseconds: services.replySettings.lease,
      chat: { idOf: () => '', milliseconds: 0 },
    });
    if (held === undefined) return;
    const failed: BatchItem = {
      ...held.item,
      status: 'failed',
      error: { code: 500, message: 'The request could not be processed' },
      processedAt: services.clock.now().toISOString(),
    };
    if (!(await services.batches.save(batch, failed))) return;
    if (request.next !== null)
      await services.batchQueue.send([{ workspaceId, batchId, position: request.next }]);
    const counted = await services.batches.count(batch, { completed: 0, failed: 1 });
    if (counted !== undefined && mayBeOver(counted)) await wakeBatch(services)(counted);
  };
