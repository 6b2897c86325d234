import type { PlatformServices } from '#domain/platform/services.ts';
import { type Batch, type BatchRequest, mayHaveEnded } from './batch.ts';
import type { QueuedRequests } from './batch-queue.ts';
import { completeTaskCallback } from './complete-task-callback.ts';
import { groupMessages, groupsLeft, messagesFor, slotsOf } from './send-requests.ts';
import type { BatchServices } from './services.ts';

type PassSlotServices = Pick<BatchServices, 'batchQueue' | 'batchWorkflow' | 'batches' | 'queueSettings'> &
  Pick<PlatformServices, 'clock'>;

export interface DoneWithMessage {
  message: QueuedRequests;
  succeeded: readonly BatchRequest[];
  failed: readonly BatchRequest[];
  /** Requests with a scheduled retry. `due` in milliseconds since the epoch, `wait` in seconds. */
  waiting: readonly { request: BatchRequest; due: number; wait: number; keepsPlace: boolean }[];
  /** Whether the queue delivers the message again. Then the message keeps its slot. */
  isRedelivered: boolean;
}

/**
 * Ends a worker's message: enqueues the successors of the ended requests (those with the same `history_id`), enqueues
 * retries with a delay, records the outcomes, and gives the slot of the message to further requests of the batch.
 * Completes the task callback if the batch may have ended.
 */
export const passSlotOn =
  (services: PassSlotServices) =>
  async (batch: Batch, done: DoneWithMessage): Promise<void> => {
    const { message, succeeded, failed, waiting } = done;
    const { holdsPlace } = message;
    const next = [...succeeded, ...failed].flatMap((request) => request.next ?? []);
    const successors = messagesFor(batch, next, { holdsPlace });
    await services.batchQueue.send(successors);
    let stored = holdsPlace ? successors.length : 0;
    // Requests with the same wait share a message, which is delivered when the last of them is due.
    for (const [wait, together] of Map.groupBy(waiting, (each) => each.wait)) {
      const keepsPlace = holdsPlace && together.some((each) => each.keepsPlace);
      const requestIndexes = together.map(({ request }) => request.requestIndex);
      const due = Math.max(...together.map((each) => each.due));
      const seconds = Math.ceil((due - services.clock.now().getTime()) / 1000);
      await services.batchQueue.send(
        messagesFor(batch, requestIndexes, { holdsPlace: keepsPlace }),
        Math.min(Math.max(seconds, 0), wait),
      );
      if (keepsPlace) stored += 1;
    }
    const slots = stored - (holdsPlace && !done.isRedelivered ? 1 : 0);
    const change = { completed: succeeded.length, failed: failed.length, slots };
    const counted = await count(services, batch, change);
    // If no message has a slot, either the batch has ended, or a crash has left work: the workflow then finds it.
    if (counted !== undefined && (mayHaveEnded(counted) || counted.slots <= 0))
      await completeTaskCallback(services)(counted);
  };

async function count(
  services: PassSlotServices,
  batch: Batch,
  change: { completed: number; failed: number; slots: number },
): Promise<Batch | undefined> {
  if (change.slots < 0 && groupsLeft(batch) > 0) {
    const slotLimit = await slotsOf(services, batch);
    const counted = await enqueueNextGroups(services, batch, change, { groups: 1, slotLimit });
    if (counted !== undefined) {
      // If another batch of the workspace has ended, this one has more slots.
      const groups = Math.min(slotLimit - counted.slots, groupsLeft(counted));
      if (groups > 0)
        await enqueueNextGroups(
          services,
          counted,
          { completed: 0, failed: 0, slots: 0 },
          { groups, slotLimit },
        );
      return counted;
    }
  }
  if (change.completed + change.failed === 0 && change.slots === 0) return undefined;
  return services.batches.recordOutcomes(batch, change);
}

/** One conditional write takes the groups for this worker alone, which then sends them. */
async function enqueueNextGroups(
  services: PassSlotServices,
  batch: Batch,
  change: { completed: number; failed: number; slots: number },
  { groups, slotLimit }: { groups: number; slotLimit: number },
): Promise<Batch | undefined> {
  const at = services.clock.now().toISOString();
  const counted = await services.batches.enqueueNext(batch, change, { groups, slotLimit, at });
  if (counted !== undefined)
    await services.batchQueue.send(groupMessages(counted, counted.groupsSent - groups, counted.groupsSent));
  return counted;
}
