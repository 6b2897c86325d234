import { type Batch, isAlive, leftOf, requestsPerGroup, type Slot } from './batch.ts';
import type { Services } from './batch-store.ts';
import type { BatchKey } from './batch-transitions.ts';

export type SlotServices = Services<'batchQueue' | 'batches' | 'clock' | 'queueSettings'>;

/** Milliseconds until the slot of a due message is silent: less than the minute between two runs of the reconciler. */
export const messageMilliseconds = 55_000;

/** The first epoch of each new slot is a multiple of this number. A slot has far fewer owners. */
export const epochsPerSlot = 1_000_000;

const fewestPerSlot = 2 * requestsPerGroup;

export async function shareOf(
  { batches, queueSettings }: Services<'batches' | 'queueSettings'>,
  workspaceId: string,
): Promise<number> {
  const open = await batches.countOpen(workspaceId);
  return Math.max(Math.floor(queueSettings.workspaceSlots / Math.max(open, 1)), 1);
}

/**
 * Also takes silent slots from their owners and sends their messages again.
 * @param isFirst also sends the messages of slots that never had an owner: an earlier call may have crashed before it
 *   sent them
 */
export async function topUpSlots(services: SlotServices, batch: Batch, isFirst = false): Promise<void> {
  if (batch.stop !== null) return;
  const now = services.clock.now().getTime();
  const isSilent = ({ epoch, until }: Slot): boolean =>
    until < now || (isFirst && epoch % epochsPerSlot === 0);
  const numbers = Object.keys(batch.slots).map(Number);
  const silent = numbers.filter((number) => isSilent(batch.slots[number] as Slot));
  const share = await shareOf(services, batch.workspaceId);
  const requestsPerSlot = Math.max(services.queueSettings.requestsPerWorker, fewestPerSlot);
  const wanted = Math.min(share, Math.ceil(leftOf(batch) / requestsPerSlot));
  const missing = Array.from({ length: share }, (_, index) => index + 1)
    .filter((number) => !numbers.includes(number))
    .slice(0, Math.max(wanted - numbers.length, 0));
  const offered = [...silent, ...missing];
  if (offered.length === 0) return;
  const changed = await services.batches.topUp(batch, offered, now + messageMilliseconds);
  if (changed === undefined) return;
  await services.batchQueue.send(
    offered.map((slot) => ({
      ...{ workspaceId: batch.workspaceId, batchId: batch.id, slot },
      epoch: (changed.slots[slot] as Slot).epoch,
    })),
  );
}

export function needsCheck(batch: Batch, now: number): boolean {
  if (batch.stop !== null) return !Object.values(batch.slots).some((slot) => isAlive(slot, now));
  if (now >= Date.parse(batch.expiresAt)) return true;
  return batch.slotsMade > 0 && leftOf(batch) === 0 && Object.keys(batch.slots).length === 0;
}

/** Makes the workflow check the batch. A needless call does no harm. Returns false if no task waits. */
export async function completeTaskCallback(
  services: Services<'batchWorkflow' | 'batches'>,
  batch: BatchKey,
): Promise<boolean> {
  const token = await services.batches.taskToken(batch);
  return token !== undefined && (await services.batchWorkflow.completeTaskCallback(token));
}
