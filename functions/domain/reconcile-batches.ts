import { type Batch, isOpen } from './batch.ts';
import { isNothingLeft, type OpenRequests, openRequests } from './open-requests.ts';
import type { QueueLevel } from './ports/batch-queue.ts';
import { sendAgain } from './send-again.ts';
import { messagesFor } from './send-requests.ts';
import type { Services } from './services.ts';
import { wakeBatch } from './wake-batch.ts';

type ReconcileServices = Pick<
  Services,
  'batchQueue' | 'batchWorkflow' | 'batches' | 'clock' | 'log' | 'queueSettings' | 'replySettings'
>;

/**
 * Milliseconds since requests of a batch were last sent. When nothing waits to be delivered, whoever was given one has
 * begun it by then, or has died with it, and SQS would hide it for half an hour. A queue that never goes empty must not
 * hide that messages are lost.
 */
const lateAfter = { empty: 0, drained: 5 * 60_000, filled: 60 * 60_000 } satisfies Record<QueueLevel, number>;

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
  const level = await services.batchQueue.level();
  for await (const batches of services.batches.allOpen())
    for (const batch of batches) {
      const late = services.clock.now().getTime() - Date.parse(batch.expiresAt);
      if (isOpen(batch) && late > overdueAfterMilliseconds) overdue += 1;
      try {
        await reconcile(services, batch, level);
      } catch (error) {
        services.log.error('A batch was not reconciled', { batchId: batch.id, error });
      }
    }
  return { overdue };
};

async function reconcile(services: ReconcileServices, batch: Batch, level: QueueLevel): Promise<void> {
  const isTakenUp = await restart(services, batch);
  // Its execution delivers the webhook.
  if (!isOpen(batch)) return;
  const left = await openRequests(services, batch);
  const now = services.clock.now();
  if (batch.stop !== null || isNothingLeft(batch, left) || now.toISOString() >= batch.expiresAt)
    return wakeBatch(services)(batch);
  // Its workflow has yet to begin.
  if (batch.dispatchedAt === null) return;
  const lastSent = Date.parse(batch.sentAt ?? batch.dispatchedAt);
  // What ended the execution may have ended the queue.
  const isAllLost = level === 'empty' || isTakenUp;
  if (isAllLost || now.getTime() - lastSent > lateAfter[level])
    await sendAgain(services)(batch, left, isAllLost ? 'all' : 'overdue');
  else await sendOverdue(services, batch, left.ready);
  await sendOverdue(
    services,
    batch,
    left.processing.map(({ position, leaseUntil, attempt }) => ({ position, due: leaseUntil, attempt })),
  );
}

type Due = OpenRequests['ready'][number];

/** Whoever had them would have been heard of by now. One that has been lost before may be what its workers died of. */
async function sendOverdue(
  services: ReconcileServices,
  batch: Batch,
  requests: readonly Due[],
): Promise<void> {
  const before = services.clock.now().getTime() - services.replySettings.lease;
  const lost = requests.filter(({ due }) => due !== null && due < before);
  const [first, again] = [false, true].map((isAgain) =>
    lost.filter(({ attempt }) => attempt > 1 === isAgain).map(({ position }) => position),
  ) as [number[], number[]];
  await services.batchQueue.send([
    ...messagesFor(batch, first, { holdsPlace: true }),
    ...messagesFor(batch, again, { holdsPlace: true, size: 1 }),
  ]);
}

/**
 * An execution that was never started is started; one that has ended, though the batch has not, gets a successor.
 * @returns whether it got one
 */
async function restart(services: ReconcileServices, batch: Batch): Promise<boolean> {
  const state = await services.batchWorkflow.stateOf(batch);
  if (state === 'running') return false;
  if (state === 'none') {
    await services.batchWorkflow.start(batch);
    return false;
  }
  const raised = await services.batches.raiseRun(batch);
  // Someone else starts it.
  if (raised === undefined) return false;
  services.log.warn('A batch is taken up by a new execution', { batchId: batch.id, run: raised.run });
  await services.batchWorkflow.start(raised);
  return true;
}
