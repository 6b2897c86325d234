import type { PlatformServices } from '#domain/platform/services.ts';
import { type Batch, requestsPerGroup } from './batch.ts';
import { type OpenRequests, workersOf } from './open-requests.ts';
import { groupMessages, groupsLeft, messagesFor, slotsOf } from './send-requests.ts';
import type { BatchServices } from './services.ts';

/**
 * Enqueues requests once more that were enqueued before and could be started now. It counts the slots of the batch
 * anew, and gives unused slots to further requests.
 *
 * - `all`: the queue has lost everything. Requests that wait for a retry are enqueued with the delay that is left.
 * - `unclaimed`: no message of the batch has a slot, so requests that were never claimed have no message.
 *
 * @returns false if another call has enqueued requests of the batch since it was read; then this one does nothing
 */
export const requeueAll =
  (
    services: Pick<BatchServices, 'batchQueue' | 'batches' | 'queueSettings'> &
      Pick<PlatformServices, 'clock'>,
  ) =>
  async (batch: Batch, { ready, processing }: OpenRequests, which: 'all' | 'unclaimed'): Promise<boolean> => {
    const now = services.clock.now();
    const delayOf = (due: number | null): number =>
      due === null ? 0 : Math.max(Math.ceil((due - now.getTime()) / 1000), 0);
    const lost = ready.filter(
      ({ requestIndex, due }) =>
        requestIndex < batch.groupsSent * requestsPerGroup && (which === 'all' || due === null),
    );
    const byDelay = [...Map.groupBy(lost, ({ due }) => delayOf(due))].map(([delay, requests]) => {
      const requestIndexes = requests.map(({ requestIndex }) => requestIndex);
      return [delay, messagesFor(batch, requestIndexes, { holdsPlace: true })] as const;
    });
    const inWork = workersOf(processing).size;
    const taken = byDelay.reduce((sum, [, messages]) => sum + messages.length, inWork);
    const further = Math.max(Math.min((await slotsOf(services, batch)) - taken, groupsLeft(batch)), 0);
    // Lost messages may have held slots, also if there is nothing to enqueue: unless these slots are given up, no worker
    // takes further groups.
    const slots = taken + further;
    if (slots === inWork && slots === batch.slots) return true;
    const started = await services.batches.requeueAll(batch, {
      at: now.toISOString(),
      groupsSent: batch.groupsSent + further,
      slots,
    });
    if (started === undefined) return false;
    for (const [delay, messages] of byDelay) await services.batchQueue.send(messages, delay);
    await services.batchQueue.send(groupMessages(batch, batch.groupsSent, started.groupsSent));
    return true;
  };
