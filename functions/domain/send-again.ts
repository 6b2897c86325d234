import { type Batch, requestsPerGroup } from './batch.ts';
import type { OpenRequests } from './open-requests.ts';
import { groupMessages, groupsLeft, messagesFor, placesOf } from './send-requests.ts';
import type { Services } from './services.ts';

type SendServices = Pick<Services, 'batchQueue' | 'batches' | 'clock' | 'queueSettings' | 'replySettings'>;

/**
 * The queue learns once more of requests that it has been given before, and that could be begun now.
 *
 * - `all`: the queue has lost everything. Those that wait come again when they are due.
 * - `unbegun`: no message of the batch holds a place, so those that were never begun have none.
 * - `overdue`: those, and such as should have come back by now.
 *
 * Where all messages of the batch are known to be gone, its places are counted anew and given to further requests.
 */
export const sendAgain =
  (services: SendServices) =>
  async (
    batch: Batch,
    { ready, processing }: OpenRequests,
    which: 'all' | 'unbegun' | 'overdue',
  ): Promise<void> => {
    const now = services.clock.now();
    // Whoever had them would have been heard of by now.
    const overdue = now.getTime() - services.replySettings.lease;
    const isLost = (due: number | null): boolean =>
      which === 'all' || due === null || (which === 'overdue' && due < overdue);
    const delayOf = (due: number | null): number =>
      due === null ? 0 : Math.max(Math.ceil((due - now.getTime()) / 1000), 0);
    const lost = ready.filter(
      ({ position, due }) => position < batch.groupsSent * requestsPerGroup && isLost(due),
    );
    const byDelay = [...Map.groupBy(lost, ({ due }) => delayOf(due))].map(([delay, requests]) => {
      const positions = requests.map(({ position }) => position);
      return [delay, messagesFor(batch, positions, { holdsPlace: true })] as const;
    });
    const inWork = Math.ceil(processing.length / requestsPerGroup);
    const taken = byDelay.reduce((sum, [, messages]) => sum + messages.length, inWork);
    const further =
      which === 'overdue'
        ? 0
        : Math.max(Math.min((await placesOf(services, batch)) - taken, groupsLeft(batch)), 0);
    if (taken - inWork + further === 0) return;
    const begun = await services.batches.beginAgain(batch, {
      at: now.toISOString(),
      groupsSent: batch.groupsSent + further,
      places: which === 'overdue' ? batch.places : taken + further,
    });
    // Others have, meanwhile.
    if (begun === undefined) return;
    for (const [delay, messages] of byDelay) await services.batchQueue.send(messages, delay);
    await services.batchQueue.send(groupMessages(batch, batch.groupsSent, begun.groupsSent));
  };
