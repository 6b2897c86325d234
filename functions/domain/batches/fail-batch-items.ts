import type { ChatServices } from '#domain/chats/services.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import { type BatchItem, type BatchRequest, isOpen } from './batch.ts';
import type { QueuedRequests } from './batch-queue.ts';
import { passSlotOn } from './pass-slot-on.ts';
import type { BatchServices } from './services.ts';

/**
 * Fails the requests of a dead letter: a message that the queue delivered too often without success. Requests that have
 * ended, or that another worker processes, are not changed.
 */
export const failBatchItems =
  (
    services: Pick<BatchServices, 'batchQueue' | 'batchWorkflow' | 'batches' | 'queueSettings'> &
      Pick<ChatServices, 'replySettings'> &
      Pick<PlatformServices, 'clock'>,
  ) =>
  async (message: QueuedRequests): Promise<void> => {
    const { workspaceId, batchId, positions: requestIndexes } = message;
    const batch = await services.batches.get(workspaceId, batchId);
    if (batch === undefined || !isOpen(batch) || batch.stop !== null) return;
    const [items, requests] = await Promise.all([
      services.batches.items(batch, requestIndexes),
      services.batches.requests(batch, requestIndexes),
    ]);
    const itemAt = new Map(items.flatMap((item) => (item === undefined ? [] : [[item.requestIndex, item]])));
    const failed: BatchRequest[] = [];
    for (const request of requests) {
      const item = itemAt.get(request.requestIndex);
      if (item?.status === 'success' || item?.status === 'failed') continue;
      const [claimed] = await services.batches.claimItems(batch, [{ request, item, newChat: null }], {
        milliseconds: services.replySettings.lease,
        worker: null,
        chat: { idOf: () => '', milliseconds: 0 },
      });
      if (claimed === undefined) continue;
      const end: BatchItem = {
        ...claimed.item,
        status: 'failed',
        error: { code: 500, message: 'The request could not be processed' },
        processedAt: services.clock.now().toISOString(),
      };
      if (await services.batches.finishItem(batch, end)) failed.push(request);
    }
    await passSlotOn(services)(batch, {
      givesSlot: message.holdsPlace,
      ready: failed.flatMap(({ next }) => next ?? []),
      retries: [],
      completed: 0,
      failed: failed.length,
    });
  };
