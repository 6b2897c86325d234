import type { PlatformServices } from '#domain/platform/services.ts';
import { type Batch, type BatchRequest, mayBeOver } from './batch.ts';
import type { QueuedRequests } from './batch-queue.ts';
import { groupMessages, groupsLeft, messagesFor, placesOf } from './send-requests.ts';
import type { BatchServices } from './services.ts';
import { wakeBatch } from './wake-batch.ts';

type HandOnServices = Pick<BatchServices, 'batchQueue' | 'batchWorkflow' | 'batches' | 'queueSettings'> &
  Pick<PlatformServices, 'clock'>;

export interface DoneWithMessage {
  message: QueuedRequests;
  succeeded: readonly BatchRequest[];
  failed: readonly BatchRequest[];
  /** Requests that are to be tried again, each with the milliseconds since the epoch at which it is due. */
  waiting: readonly { request: BatchRequest; due: number; wait: number; keepsPlace: boolean }[];
  /** Whether the message itself comes again, and keeps its place. */
  comesAgain: boolean;
}

/**
 * What follows when a worker is done with a message: the next requests of histories go, those that must wait are sent for
 * later, what has ended is counted, and the message's place goes to other requests of the batch. Wakes the workflow when
 * it may be the end.
 */
export const handOnPlace =
  (services: HandOnServices) =>
  async (batch: Batch, done: DoneWithMessage): Promise<void> => {
    const { message, succeeded, failed, waiting } = done;
    const { holdsPlace } = message;
    const next = [...succeeded, ...failed].flatMap((request) => request.next ?? []);
    const successors = messagesFor(batch, next, { holdsPlace });
    await services.batchQueue.send(successors);
    let kept = holdsPlace ? successors.length : 0;
    // What waits equally long comes back together, when the last of them is due.
    for (const [wait, together] of Map.groupBy(waiting, (each) => each.wait)) {
      const keepsPlace = holdsPlace && together.some((each) => each.keepsPlace);
      const positions = together.map(({ request }) => request.position);
      const due = Math.max(...together.map((each) => each.due));
      const seconds = Math.ceil((due - services.clock.now().getTime()) / 1000);
      await services.batchQueue.send(
        messagesFor(batch, positions, { holdsPlace: keepsPlace }),
        Math.min(Math.max(seconds, 0), wait),
      );
      if (keepsPlace) kept += 1;
    }
    const places = kept - (holdsPlace && !done.comesAgain ? 1 : 0);
    const change = { completed: succeeded.length, failed: failed.length, places };
    const counted = await count(services, batch, change);
    // Without a message left it is the end, or the workflow finds what was left behind.
    if (counted !== undefined && (mayBeOver(counted) || counted.places <= 0))
      await wakeBatch(services)(counted);
  };

async function count(
  services: HandOnServices,
  batch: Batch,
  change: { completed: number; failed: number; places: number },
): Promise<Batch | undefined> {
  if (change.places < 0 && groupsLeft(batch) > 0) {
    const placesAtMost = await placesOf(services, batch);
    const counted = await beginNext(services, batch, change, { groups: 1, placesAtMost });
    if (counted !== undefined) {
      // Another batch of the workspace has ended: its places are free.
      const groups = Math.min(placesAtMost - counted.places, groupsLeft(counted));
      if (groups > 0)
        await beginNext(services, counted, { completed: 0, failed: 0, places: 0 }, { groups, placesAtMost });
      return counted;
    }
  }
  if (change.completed + change.failed === 0 && change.places === 0) return undefined;
  return services.batches.count(batch, change);
}

/** One write takes further groups for this worker and no other; it sends them. */
async function beginNext(
  services: HandOnServices,
  batch: Batch,
  change: { completed: number; failed: number; places: number },
  { groups, placesAtMost }: { groups: number; placesAtMost: number },
): Promise<Batch | undefined> {
  const at = services.clock.now().toISOString();
  const counted = await services.batches.countAndBegin(batch, change, { groups, placesAtMost, at });
  if (counted !== undefined)
    await services.batchQueue.send(groupMessages(counted, counted.groupsSent - groups, counted.groupsSent));
  return counted;
}
