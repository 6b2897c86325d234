import type { ChatServices } from '#domain/chats/services.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import type { WebhookServices } from '#domain/webhooks/services.ts';
import { type Batch, isOpen, requestsPerGroup } from './batch.ts';
import type { QueueDepth } from './batch-queue.ts';
import { completeTaskCallback } from './complete-task-callback.ts';
import { isNothingLeft, type OpenRequests, openRequests } from './open-requests.ts';
import { reconcileWebhook } from './reconcile-webhook.ts';
import type { OpenBatchEntry } from './reconciliation-index.ts';
import { requeueAll } from './requeue-all.ts';
import { restartExecution } from './restart-execution.ts';
import { groupsLeft, messagesFor } from './send-requests.ts';
import type { BatchServices } from './services.ts';

export type ReconcileServices = Pick<
  BatchServices,
  'batchQueue' | 'batchWorkflow' | 'batches' | 'queueSettings' | 'reconciliationIndex'
> &
  Pick<ChatServices, 'replySettings'> &
  Pick<WebhookServices, 'deliveries'> &
  Pick<PlatformServices, 'clock' | 'log'>;

/** Milliseconds that the clocks of two functions may differ. */
const clockDifference = 2000;

/**
 * A worker claims the requests of a message within seconds, and a lease is 30 s. When the queue delivers nothing,
 * groups that were enqueued 45 s ago and are not claimed are lost.
 */
const unclaimedLeases = 1.5;

/** In a queue that is never empty, groups wait for workers. Five minutes bound how often they are requeued in vain. */
const unclaimedLeasesInFilledQueue = 10;

/**
 * By then the leases of an expired batch have expired too, and many runs of the reconciler have checked it: it will not
 * end by itself.
 */
const overdueAfterMilliseconds = 15 * 60 * 1000;

/**
 * Repairs a batch that is open by its index entry.
 * @param onOverdue called for a batch that is open long after it expired
 */
export const reconcileOpenBatch =
  (services: ReconcileServices) =>
  async (entry: OpenBatchEntry, depth: QueueDepth, onOverdue: () => void): Promise<void> => {
    const batch = await services.batches.get(entry.workspaceId, entry.batchId);
    // The transaction that creates a batch becomes visible item by item, so the batch may follow its entry.
    if (batch === undefined) return;
    if (!isOpen(batch)) return removeEnded(services, entry);
    const now = services.clock.now().getTime();
    if (now - Date.parse(batch.expiresAt) > overdueAfterMilliseconds) onOverdue();
    await repair(services, batch, entry, depth);
  };

/** Restarts a lost execution, and then completes the wait of a batch that needs its end, or requeues lost requests. */
async function repair(
  services: ReconcileServices,
  batch: Batch,
  entry: OpenBatchEntry,
  depth: QueueDepth,
): Promise<void> {
  const now = services.clock.now().getTime();
  const left = await openRequests(services, batch);
  const needsEnd = batch.stop !== null || isNothingLeft(batch, left) || now >= Date.parse(batch.expiresAt);
  // Step Functions describes only 15 executions a second, and workers need no execution before the end. Without a
  // message in the queue there are no workers: the leases are those of a process that has ended.
  const isWorkedOn = depth !== 'empty' && left.processing.some(({ leaseUntil }) => leaseUntil > now);
  const isTakenUp = (needsEnd || !isWorkedOn) && (await restartExecution(services)(batch));
  if (needsEnd) return completeTaskCallback(services)(batch);
  // The execution enqueues the first requests.
  if (batch.dispatchedAt === null) return;
  // What ended the execution may have ended the queue. The new execution may be the first to enqueue requests.
  const isRequeued = isTakenUp && (await requeueAll(services)(batch, left, 'all'));
  const groups = lostGroups(services, batch, entry, depth);
  const ready = isRequeued ? [] : left.ready;
  await requeueLost(services, batch, { ready, processing: left.processing, groups });
  if (!isRequeued && hasLostSlots(batch, left, groups)) await requeueAll(services)(batch, left, 'unclaimed');
  await services.reconciliationIndex.saveCheck(entry, { groups: batch.groupsSent, at: now });
}

/** The entry is older than the entries of webhooks, or was read before its batch ended. */
async function removeEnded(services: ReconcileServices, entry: OpenBatchEntry): Promise<void> {
  const { clock, deliveries, reconciliationIndex, replySettings } = services;
  const delivery = await deliveries.get(entry);
  if (delivery?.state === 'pending') {
    const webhook = { ...entry, due: delivery.nextAt };
    await reconciliationIndex.putWebhook(webhook);
    const until = new Date(clock.now().getTime() - replySettings.lease).toISOString();
    if (webhook.due <= until) await reconcileWebhook(services)(webhook, until);
  }
  await reconciliationIndex.removeOpenBatch(entry);
}

/** Number of first groups that were enqueued so long ago that their unclaimed requests are lost. */
function lostGroups(
  { clock, replySettings: { lease } }: ReconcileServices,
  batch: Batch,
  { lastCheck }: OpenBatchEntry,
  depth: QueueDepth,
): number {
  const now = clock.now().getTime();
  if (depth === 'filled') {
    const lastEnqueued = Date.parse(batch.sentAt ?? batch.dispatchedAt ?? batch.createdAt);
    return now - lastEnqueued > unclaimedLeasesInFilledQueue * lease ? batch.groupsSent : 0;
  }
  return lastCheck !== null && now - lastCheck.at >= unclaimedLeases * lease ? lastCheck.groups : 0;
}

/**
 * Whether no message of the batch is left although request groups are: each slot belongs to a worker that died between
 * the end of its last request and the next request group.
 * @param groups number of first groups that were enqueued so long ago that their unclaimed requests are lost
 */
const hasLostSlots = (batch: Batch, { ready, processing }: OpenRequests, groups: number): boolean =>
  groups === batch.groupsSent &&
  groupsLeft(batch) > 0 &&
  processing.length === 0 &&
  ready.every(({ position, due }) => due === null && position >= groups * requestsPerGroup);

/**
 * Requeues requests that have lost their worker. A request that has lost two workers gets a message of its own, because
 * it may have killed them.
 * @param left `groups`: number of first request groups whose unclaimed requests are lost too
 */
async function requeueLost(
  services: ReconcileServices,
  batch: Batch,
  { ready, processing, groups }: Pick<OpenRequests, 'ready' | 'processing'> & { groups: number },
): Promise<void> {
  const now = services.clock.now();
  const overdueBefore = now.getTime() - services.replySettings.lease;
  const unclaimed = ready.filter(({ position, due }) => due === null && position < groups * requestsPerGroup);
  const timeout = ready.filter(({ due }) => due !== null && due < overdueBefore);
  const abandoned = processing.filter(({ leaseUntil }) => leaseUntil < now.getTime() - clockDifference);
  const [alone, together] = [true, false].map((isAlone) =>
    abandoned.filter(({ attempt }) => attempt > 1 === isAlone),
  ) as [typeof abandoned, typeof abandoned];
  const positions = [...unclaimed, ...timeout, ...together].map(({ position }) => position);
  const messages = [
    ...messagesFor(batch, positions, { holdsPlace: true }),
    ...messagesFor(
      batch,
      alone.map(({ position }) => position),
      { holdsPlace: true, size: 1 },
    ),
  ];
  if (messages.length === 0) return;
  // The message of the lost worker had one slot for its ten requests.
  const slots = alone.length - Math.ceil(alone.length / requestsPerGroup);
  const requeue = { at: now.toISOString(), slots };
  if ((await services.batches.requeueLost(batch, requeue)) !== undefined)
    await services.batchQueue.send(messages);
}
