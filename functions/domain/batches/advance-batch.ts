import type { CloseTurnServices } from '#domain/chats/close-abandoned-turn.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import { type Batch, type BatchItem, isOpen, outcomeOf } from './batch.ts';
import { deliveryOf } from './batch-ended-event.ts';
import { isNothingLeft, type OpenRequests, openRequests } from './open-requests.ts';
import { releaseChats } from './release-chats.ts';
import type { BatchServices } from './services.ts';

interface AdvanceServices
  extends CloseTurnServices,
    Pick<BatchServices, 'batches'>,
    Pick<PlatformServices, 'meter'> {}

/**
 * `wait`: requests are to be done; `finish`: some are being done, and no more are begun; `over`: the batch has ended.
 */
export type BatchPhase = 'wait' | 'finish' | 'over';

/**
 * Looks at a batch and moves it on: one whose time is up is stopped, and one that has nothing left to be done is closed.
 * Says from the rows alone what is to be waited for.
 */
export const advanceBatch =
  (services: AdvanceServices) =>
  async (input: { workspaceId: string; batchId: string }): Promise<{ batch: Batch; stage: BatchPhase }> => {
    for (;;) {
      const batch = await read(services, input);
      if (!isOpen(batch)) return { batch, stage: 'over' };
      if (batch.stop === null && services.clock.now().toISOString() >= batch.expiresAt) {
        await services.batches.markExpired(batch, services.clock.now().toISOString());
        continue;
      }
      if (batch.stop !== null) await failAbandoned(services, batch);
      const left = await openRequests(services, batch);
      if (!isNothingLeft(batch, left)) return { batch, stage: batch.stop === null ? 'wait' : 'finish' };
      // Unless someone has stopped it meanwhile, or closed it.
      await closeBatch(services, batch, left);
    }
  };

/** Ends a batch that cannot be carried through: what is not over has failed. */
export const failBatch =
  (services: AdvanceServices) =>
  async (input: { workspaceId: string; batchId: string }): Promise<Batch> => {
    const found = await read(services, input);
    if (!isOpen(found)) return found;
    await services.batches.markFailed(found, services.clock.now().toISOString());
    const batch = await read(services, input);
    const { processing } = await openRequests(services, batch);
    for (const item of processing)
      await services.batches.failAbandonedItem(batch, abandoned(batch, item), Number.MAX_SAFE_INTEGER);
    await closeBatch(services, batch, await openRequests(services, batch));
    return read(services, input);
  };

async function read(
  services: Pick<BatchServices, 'batches'>,
  { workspaceId, batchId }: { workspaceId: string; batchId: string },
): Promise<Batch> {
  const batch = await services.batches.get(workspaceId, batchId);
  if (batch === undefined) throw new Error(`There is no batch ${batchId}`);
  return batch;
}

/** Of a stopped batch, what a worker began and left lying is not begun again. */
async function failAbandoned(
  services: Pick<BatchServices, 'batches'> & Pick<PlatformServices, 'clock'>,
  batch: Batch,
): Promise<void> {
  const now = services.clock.now().getTime();
  const { processing } = await openRequests(services, batch);
  for (const item of processing.filter(({ leaseUntil }) => leaseUntil < now))
    await services.batches.failAbandonedItem(batch, abandoned(batch, item), now);
}

/** It ends as one that was never begun. */
const abandoned = (batch: Batch, item: BatchItem): BatchItem => {
  const { error, processedAt } = outcomeOf(batch, undefined);
  return { ...item, status: 'failed', error, processedAt };
};

async function closeBatch(services: AdvanceServices, batch: Batch, left: OpenRequests): Promise<void> {
  // Before the close: behind it nobody looks at the batch again.
  await releaseChats(services)(batch, left.unanswered);
  const now = services.clock.now();
  const at = now.toISOString();
  const status =
    batch.status === 'cancelling' ? 'cancelled' : batch.stop?.reason === 'failed' ? 'failed' : 'completed';
  const final = {
    status,
    completed: left.completed,
    failed: batch.total - left.completed,
    completedAt: status === 'cancelled' ? null : at,
    cancelledAt: status === 'cancelled' ? at : null,
  } as const;
  if (await services.batches.complete(batch, final, deliveryOf({ ...batch, ...final })))
    services.meter.batchEnded(status, now.getTime() - Date.parse(batch.createdAt));
}
