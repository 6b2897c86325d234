import { type Batch, isOpen } from './batch.ts';
import { isNothingLeft, openRequests } from './open-requests.ts';
import type { Services } from './services.ts';

type DispatchServices = Pick<Services, 'batchQueue' | 'batchWorkflow' | 'batches' | 'clock'>;

/**
 * Notes down what wakes the workflow, and then puts the requests into the queue, once for a batch. When there is
 * nothing to wait for, it wakes the workflow itself: what ended before the token was noted has told nobody.
 */
export const dispatchBatch =
  (services: DispatchServices) =>
  async (input: { workspaceId: string; batchId: string; taskToken: string }): Promise<void> => {
    const found = await services.batches.get(input.workspaceId, input.batchId);
    if (found === undefined) throw new Error(`There is no batch ${input.batchId}`);
    const batch = await services.batches.saveToken(found, input.taskToken);
    if (isOpen(batch) && batch.stop === null && batch.dispatchedAt === null) {
      await sendReady(services, batch);
      return;
    }
    if (!isOpen(batch) || isNothingLeft(batch, await openRequests(services, batch)))
      await services.batchWorkflow.wake(input.taskToken);
  };

/** The queue learns of every request that could be begun now, or is to be tried later; the row learns that it did. */
export async function sendReady(
  services: Pick<Services, 'batchQueue' | 'batches' | 'clock'>,
  batch: Batch,
): Promise<void> {
  const { ready } = await openRequests(services, batch);
  const { workspaceId, id: batchId } = batch;
  const now = services.clock.now();
  const delayOf = (due: number | null): number =>
    due === null ? 0 : Math.max(Math.ceil((due - now.getTime()) / 1000), 0);
  for (const [delay, requests] of Map.groupBy(ready, ({ due }) => delayOf(due)))
    await services.batchQueue.send(
      requests.map(({ position }) => ({ workspaceId, batchId, position })),
      delay,
    );
  await services.batches.saveDispatch(batch, now.toISOString());
}
