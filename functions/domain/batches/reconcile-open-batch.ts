import type { ChatServices } from '#domain/chats/services.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import type { WebhookServices } from '#domain/webhooks/services.ts';
import { type Batch, isOpen, requestsPerGroup } from './batch.ts';
import type { QueueDepth } from './batch-queue.ts';
import { completeTaskCallback } from './complete-task-callback.ts';
import { isNothingLeft, type OpenRequests, openRequests, workersOf } from './open-requests.ts';
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
 * In lengths of a batch item lease, which is 30 s: so 45 s. A worker claims the requests of a message within seconds.
 * If the queue has no message to deliver, unclaimed request groups that were enqueued 45 s ago are lost.
 */
const unclaimedLeases = 1.5;

/**
 * The same if the queue has messages to deliver: 90 s. Request groups may then only wait for workers, and more messages
 * for them are no help.
 */
const unclaimedLeasesInFilledQueue = 3;

/**
 * After this time the leases of an expired batch have expired too, and many runs of the reconciler have checked the
 * batch: it will not end by itself.
 */
const overdueAfterMilliseconds = 15 * 60 * 1000;

export interface BatchObserver {
  /** A batch is open long after it expired. */
  overdue(): void;
  /** A request of a batch has waited for a worker for so many milliseconds. */
  waited(milliseconds: number): void;
}

/** Checks a batch that is open according to its index entry, and repairs it. */
export const reconcileOpenBatch =
  (services: ReconcileServices) =>
  async (entry: OpenBatchEntry, depth: QueueDepth, observer: BatchObserver): Promise<void> => {
    const batch = await services.batches.get(entry.workspaceId, entry.batchId);
    // The transaction that creates a batch becomes visible item by item, so the batch may become visible after its
    // entry.
    if (batch === undefined) return;
    if (!isOpen(batch)) return removeEnded(services, entry);
    const now = services.clock.now().getTime();
    if (now - Date.parse(batch.expiresAt) > overdueAfterMilliseconds) observer.overdue();
    const left = await openRequests(services, batch);
    observer.waited(longestWait(batch, left, now));
    await repair(services, batch, left, { entry, depth });
  };

/**
 * Restarts a lost execution. Then, if the batch must end, completes the task callback; otherwise requeues lost
 * requests.
 */
async function repair(
  services: ReconcileServices,
  batch: Batch,
  left: OpenRequests,
  { entry, depth }: { entry: OpenBatchEntry; depth: QueueDepth },
): Promise<void> {
  const now = services.clock.now().getTime();
  const needsEnd = batch.stop !== null || isNothingLeft(batch, left) || now >= Date.parse(batch.expiresAt);
  // Step Functions describes only 15 executions a second, and workers need no execution before the batch's end. So the
  // execution is not checked while workers process requests. If the queue is empty, there are no workers: the leases
  // are those of processes that have ended.
  const isWorkedOn = depth !== 'empty' && left.processing.some(({ leaseUntil }) => leaseUntil > now);
  const isTakenUp = (needsEnd || !isWorkedOn) && (await restartExecution(services)(batch));
  if (needsEnd) return completeTaskCallback(services)(batch);
  // The execution enqueues the first requests, so none can be lost yet.
  if (batch.dispatchedAt === null) return;
  // The failure that ended the execution may have emptied the queue too. If the new execution enqueues requests first,
  // `requeueAll` does nothing.
  const isRequeued = isTakenUp && (await requeueAll(services)(batch, left, 'all'));
  const groups = lostGroups(services, entry, depth);
  const ready = isRequeued ? [] : left.ready;
  await requeueLost(services, batch, { ready, processing: left.processing, groups: groups ?? 0 });
  if (!isRequeued && hasLostSlots(batch, left, groups)) await requeueAll(services)(batch, left, 'unclaimed');
  if (groups !== null || entry.lastCheck === null)
    await services.reconciliationIndex.saveCheck(entry, { groups: batch.groupsSent, at: now });
}

/** Milliseconds that the oldest request has waited that no worker has claimed yet; 0 if none waits. */
function longestWait(batch: Batch, { ready }: OpenRequests, now: number): number {
  if (batch.stop !== null) return 0;
  const createdAt = Date.parse(batch.createdAt);
  return ready
    .filter(({ attempt }) => attempt === 0)
    .reduce((longest, { due }) => Math.max(longest, now - (due ?? createdAt)), 0);
}

/**
 * Removes the entry of an ended batch. Either the entry was read before the batch ended, or the batch ended before the
 * service had index entries for webhooks: then the webhook gets its entry here.
 */
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

/**
 * Number of first groups that were enqueued or taken so long ago that their unclaimed requests are lost; null if the
 * last check is too recent to say.
 */
function lostGroups(
  { clock, replySettings: { lease } }: ReconcileServices,
  { lastCheck }: OpenBatchEntry,
  depth: QueueDepth,
): number | null {
  const leases = depth === 'filled' ? unclaimedLeasesInFilledQueue : unclaimedLeases;
  if (lastCheck === null || clock.now().getTime() - lastCheck.at < leases * lease) return null;
  return lastCheck.groups;
}

/**
 * Whether request groups are left, but no message of the batch: each slot belongs to a worker that died between the end
 * of its last request and the next request group.
 * @param groups number of first groups that were enqueued so long ago that their unclaimed requests are lost
 */
const hasLostSlots = (batch: Batch, { ready, processing }: OpenRequests, groups: number | null): boolean =>
  groups === batch.groupsSent &&
  groupsLeft(batch) > 0 &&
  processing.length === 0 &&
  ready.every(({ requestIndex, due }) => due === null && requestIndex >= batch.groupsSent * requestsPerGroup);

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
  const unclaimed = ready.filter(
    ({ requestIndex, due }) => due === null && requestIndex < groups * requestsPerGroup,
  );
  const timeout = ready.filter(({ due }) => due !== null && due < overdueBefore);
  const abandoned = processing.filter(({ leaseUntil }) => leaseUntil < now.getTime() - clockDifference);
  const indexesOf = (requests: readonly { requestIndex: number }[]): number[] =>
    requests.map(({ requestIndex }) => requestIndex);
  const holdsPlace = true;
  const ofAbandoned = [
    ...messagesFor(batch, indexesOf(abandoned.filter(({ attempt }) => attempt === 1)), { holdsPlace }),
    ...messagesFor(batch, indexesOf(abandoned.filter(({ attempt }) => attempt > 1)), { holdsPlace, size: 1 }),
  ];
  const messages = [
    ...messagesFor(batch, indexesOf([...unclaimed, ...timeout]), { holdsPlace }),
    ...ofAbandoned,
  ];
  if (messages.length === 0) return;
  // Each message needs a slot. That of an unclaimed group has the slot of the lost message; those of lost workers have
  // the slots of these workers.
  const live = workersOf(processing.filter((item) => !abandoned.includes(item)));
  const lost = [...workersOf(abandoned)].filter((worker) => !live.has(worker));
  const slots = ofAbandoned.length - lost.length;
  const requeue = { at: now.toISOString(), slots };
  if ((await services.batches.requeueLost(batch, requeue)) !== undefined)
    await services.batchQueue.send(messages);
}
