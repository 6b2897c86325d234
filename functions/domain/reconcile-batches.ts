import { type Batch, isOpen } from './batch.ts';
import { sendReady } from './dispatch-batch.ts';
import { isNothingLeft, openRequests } from './open-requests.ts';
import type { Services } from './services.ts';
import { wakeBatch } from './wake-batch.ts';

type ReconcileServices = Pick<
  Services,
  'batchQueue' | 'batchWorkflow' | 'batches' | 'clock' | 'log' | 'replySettings'
>;

/** A queue that never goes empty must not hide that a batch's messages are lost. */
const millisecondsBetweenDispatches = 60 * 60 * 1000;

/**
 * An item's time, a worker's and the lease of one that died are over by then, and the reconciler has been there twice:
 * a batch that is still open has something wrong with it that nothing mends by itself.
 */
const overdueAfterMilliseconds = 15 * 60 * 1000;

/**
 * Takes up again what a crash has left lying, of every open batch. Doing it twice, or beside the work, does no harm.
 * @returns how many batches were open long after their time was up
 */
export const reconcileBatches = (services: ReconcileServices) => async (): Promise<{ overdue: number }> => {
  let overdue = 0;
  const queueIsEmpty = await services.batchQueue.isEmpty();
  for await (const batches of services.batches.allOpen())
    for (const batch of batches) {
      const late = services.clock.now().getTime() - Date.parse(batch.expiresAt);
      if (isOpen(batch) && late > overdueAfterMilliseconds) overdue += 1;
      try {
        await reconcile(services, batch, queueIsEmpty);
      } catch (error) {
        services.log.error('A batch was not reconciled', { batchId: batch.id, error });
      }
    }
  return { overdue };
};

async function reconcile(services: ReconcileServices, batch: Batch, queueIsEmpty: boolean): Promise<void> {
  await restart(services, batch);
  // Its execution delivers the webhook.
  if (!isOpen(batch)) return;
  const left = await openRequests(services, batch);
  const now = services.clock.now();
  if (batch.stop !== null || isNothingLeft(batch, left) || now.toISOString() >= batch.expiresAt)
    return wakeBatch(services)(batch);
  // Its workflow has yet to begin.
  if (batch.dispatchedAt === null) return;
  const isLate = now.getTime() - Date.parse(batch.dispatchedAt) > millisecondsBetweenDispatches;
  if (queueIsEmpty || isLate) await sendReady(services, batch);
  const due = [
    ...left.processing.map(({ position, leaseUntil }) => ({ position, due: leaseUntil })),
    ...(queueIsEmpty || isLate ? [] : left.ready),
  ];
  // Whoever had them would have been heard of by now.
  const isOverdue = (at: number | null) => at !== null && at + services.replySettings.lease < now.getTime();
  const lost = due.filter((request) => isOverdue(request.due));
  const { workspaceId, id: batchId } = batch;
  if (lost.length > 0)
    await services.batchQueue.send(lost.map(({ position }) => ({ workspaceId, batchId, position })));
}

/** An execution that was never started is started; one that has ended, though the batch has not, gets a successor. */
async function restart(services: ReconcileServices, batch: Batch): Promise<void> {
  const state = await services.batchWorkflow.stateOf(batch);
  if (state === 'running') return;
  if (state === 'none') return services.batchWorkflow.start(batch);
  const raised = await services.batches.raiseRun(batch);
  // Someone else starts it.
  if (raised === undefined) return;
  services.log.warn('A batch is taken up by a new execution', { batchId: batch.id, run: raised.run });
  await services.batchWorkflow.start(raised);
}
