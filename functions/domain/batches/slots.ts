import { type Batch, isAlive, leftOf, requestsPerGroup, type Slot } from './batch.ts';
import type { Services } from './batch-store.ts';
import type { BatchKey } from './batch-transitions.ts';

export type SlotServices = Services<'batchQueue' | 'batches' | 'clock' | 'queueSettings'>;

/**
 * Milliseconds from the sending of a slot's message until the slot is silent, unless a worker acquires it. Less than a minute:
 * the reconciler runs each minute, and its next run finds the slot.
 */
export const messageMilliseconds = 55_000;

/** A new slot starts with a multiple of this epoch: a slot has far fewer owners. */
export const epochsPerSlot = 1_000_000;

/** A slot is worth its worker if its requests fill the places, and from two groups of requests on. */
const fewestPerSlot = 2 * requestsPerGroup;

/** The slots that each open batch of a workspace may have: an equal share, at least one, so that every batch goes on. */
export async function shareOf(
  { batches, queueSettings }: Services<'batches' | 'queueSettings'>,
  workspaceId: string,
): Promise<number> {
  const open = await batches.countOpen(workspaceId);
  return Math.max(Math.floor(queueSettings.workspaceSlots / Math.max(open, 1)), 1);
}

/**
 * Makes the slots that a batch can use and does not have, and sends their messages; those of silent slots are sent once
 * more.
 * @param isFirst also sends the messages of slots without a first owner: the caller may have died before it sent them
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

/**
 * Whether the workflow has something to do: the batch has expired, is stopped and no worker is alive, or no slot is left
 * because all requests have ended.
 */
export function needsCheck(batch: Batch, now: number): boolean {
  if (batch.stop !== null) return !Object.values(batch.slots).some((slot) => isAlive(slot, now));
  if (now >= Date.parse(batch.expiresAt)) return true;
  return batch.slotsMade > 0 && leftOf(batch) === 0 && Object.keys(batch.slots).length === 0;
}

/**
 * Completes the callback of the workflow's task, so that the workflow checks the batch. A needless call does no harm.
 * @returns false if no task waits
 */
export async function completeTaskCallback(
  services: Services<'batchWorkflow' | 'batches'>,
  batch: BatchKey,
): Promise<boolean> {
  const token = await services.batches.taskToken(batch);
  return token !== undefined && (await services.batchWorkflow.completeTaskCallback(token));
}
