import { type Batch, isOpen } from './batch.ts';
import { sendReady } from './dispatch-batch.ts';
import { openRequests } from './open-requests.ts';
import type { Services } from './services.ts';
import { wakeBatch } from './wake-batch.ts';

type ReconcileServices = Pick<
  Services,
  'batchQueue' | 'batchWorkflow' | 'batches' | 'clock' | 'log' | 'replySettings'
>;

/** A queue that never goes empty must not hide that a batch's messages are lost. */
const millisecondsBetweenDispatches = 60 * 60 * 1000;

/** Takes up again what a crash has left lying, of every open batch. Doing it twice, or beside the work, does no harm. */
export const reconcileBatches = (services: ReconcileServices) => async (): Promise<void> => {
  const queueIsEmpty = await services.batchQueue.isEmpty();
  for await (const batches of services.batches.allOpen())
    for (const batch of batches)
      try {
        await reconcile(services, batch, queueIsEmpty);
      } catch (error) {
        services.log.error('A batch was not reconciled', { batchId: batch.id, error });
      }
};

async function reconcile(services: ReconcileServices, batch: Batch, queueIsEmpty: boolean): Promise<void> {
  if (!(await services.batchWorkflow.isRunning(batch))) {
    const raised = await services.batches.raiseRun(batch);
    // Someone else starts it.
    if (raised === undefined) return;
    services.log.warn('A batch is taken up by a new execution', { batchId: batch.id, run: raised.run });
    await services.batchWorkflow.start(raised);
  }
  // Its execution delivers the webhook.
  if (!isOpen(batch)) return;
  const now = services.clock.now();
  if (batch.stop === null && batch.dispatchedAt !== null) {
    const { processing } = await openRequests(services, batch);
    const abandoned = processing.filter(
      ({ leaseUntil }) => leaseUntil + services.replySettings.lease < now.getTime(),
    );
    if (abandoned.length > 0)
      await services.batchQueue.send(
        abandoned.map(({ position }) => ({ workspaceId: batch.workspaceId, batchId: batch.id, position })),
      );
    const isLate = now.getTime() - Date.parse(batch.dispatchedAt) > millisecondsBetweenDispatches;
    if (queueIsEmpty || isLate) await sendReady(services, batch);
  }
  const mayBeOver = batch.completed + batch.failed >= batch.total;
  if (mayBeOver || batch.stop !== null || now.toISOString() >= batch.expiresAt)
    await wakeBatch(services)(batch);
}
