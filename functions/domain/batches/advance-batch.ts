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

interface BatchIds {
  workspaceId: string;
  batchId: string;
}

/** `wait`: the batch has work; `finish`: it is stopped and waits for running requests; `over`: it has ended. */
export type BatchPhase = 'wait' | 'finish' | 'over';

/**
 * Marks the batch as expired if its time has passed, and completes the batch if no work is left. It decides by the
 * stored items alone, not by the counters.
 * @returns what the workflow must wait for; `over` without a batch if its workspace was deleted
 */
export const advanceBatch =
  (services: AdvanceServices) =>
  async (input: BatchIds): Promise<{ batch: Batch | undefined; stage: BatchPhase }> => {
    for (;;) {
      const batch = await read(services, input);
      if (!isOpenBatch(batch)) return { batch, stage: 'over' };
      const now = services.clock.now().toISOString();
      if (batch.stop === null && now >= batch.expiresAt) {
        await services.batches.markExpired(batch, now);
        continue;
      }
      if (batch.stop !== null) await failAbandoned(services, batch);
      const left = await openRequests(services, batch);
      if (!isNothingLeft(batch, left)) return { batch, stage: phaseOf(batch) };
      // Does nothing if the batch was stopped or completed meanwhile.
      await closeBatch(services, batch, left);
    }
  };

const isOpenBatch = (batch: Batch | undefined): batch is Batch => batch !== undefined && isOpen(batch);

const phaseOf = (openBatch: Batch): BatchPhase => (openBatch.stop === null ? 'wait' : 'finish');

/**
 * Ends a batch if its workflow cannot continue. Requests without a result have failed.
 * @returns undefined if the batch was deleted with its workspace
 */
export const failBatch =
  (services: AdvanceServices) =>
  async (input: BatchIds): Promise<Batch | undefined> => {
    const found = await read(services, input);
    if (!isOpenBatch(found)) return found;
    await services.batches.markFailed(found, services.clock.now().toISOString());
    const batch = await read(services, input);
    if (batch === undefined) return undefined;
    const { processing } = await openRequests(services, batch);
    for (const item of processing)
      await services.batches.failAbandonedItem(batch, abandoned(batch, item), Number.MAX_SAFE_INTEGER);
    await closeBatch(services, batch, await openRequests(services, batch));
    return read(services, input);
  };

const read = (
  { batches }: Pick<BatchServices, 'batches'>,
  { workspaceId, batchId }: BatchIds,
): Promise<Batch | undefined> => batches.get(workspaceId, batchId);

/** Fails the requests with an expired lease of a stopped batch, because a stopped batch retries no request. */
async function failAbandoned(
  services: Pick<BatchServices, 'batches'> & Pick<PlatformServices, 'clock'>,
  batch: Batch,
): Promise<void> {
  const now = services.clock.now().getTime();
  const { processing } = await openRequests(services, batch);
  for (const item of processing.filter(({ leaseUntil }) => leaseUntil < now))
    await services.batches.failAbandonedItem(batch, abandoned(batch, item), now);
}

/** An abandoned request ends like one that was never started. */
const abandoned = (batch: Batch, item: BatchItem): BatchItem => {
  const { error, processedAt } = outcomeOf(batch, undefined);
  return { ...item, status: 'failed', error, processedAt };
};

async function closeBatch(services: AdvanceServices, batch: Batch, left: OpenRequests): Promise<void> {
  // Chats are released before the batch completes, because the batch is not checked after its end.
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
