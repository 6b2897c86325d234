import { type Batch, isOpen } from './batch.ts';
import { openRequests } from './open-requests.ts';
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
    const { processing, waiting } = await openRequests(services, batch);
    const isAwaited = processing.length > 0 || (batch.stop === null && waiting > 0);
    if (!isAwaited || !isOpen(batch)) await services.batchWorkflow.wake(input.taskToken);
  };

/** The queue learns of every request that could be begun now; the row learns that it did. */
export async function sendReady(
  services: Pick<Services, 'batchQueue' | 'batches' | 'clock'>,
  batch: Batch,
): Promise<void> {
  const { ready } = await openRequests(services, batch);
  const { workspaceId, id: batchId } = batch;
  await services.batchQueue.send(ready.map((position) => ({ workspaceId, batchId, position })));
  await services.batches.saveDispatch(batch, services.clock.now().toISOString());
}
