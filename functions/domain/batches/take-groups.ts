import type { PlatformServices } from '#domain/platform/services.ts';
import type { Batch } from './batch.ts';
import type { Outcomes } from './batch-transitions.ts';
import { groupMessages, groupsLeft, slotsFor, slotsOf } from './send-requests.ts';
import type { BatchServices } from './services.ts';

export type TakeServices = Pick<BatchServices, 'batchQueue' | 'batches' | 'queueSettings'> &
  Pick<PlatformServices, 'clock'>;

/**
 * Takes further request groups for a worker that holds a slot. One conditional write takes the groups for this caller
 * alone and records outcomes. If other batches of the workspace have ended, it also enqueues groups for more workers.
 * @param most how many groups to take at most; fewer are taken if the batch has fewer
 * @returns the batch after the write; undefined if nothing was taken or recorded: no group is left, the batch is
 * stopped, or it has more slots than its share
 */
export async function takeGroups(
  services: TakeServices,
  batch: Batch,
  outcomes: Pick<Outcomes, 'completed' | 'failed'>,
  most: number,
): Promise<{ batch: Batch; groups: number } | undefined> {
  if (groupsLeft(batch) <= 0) return undefined;
  const slotLimit = await slotsOf(services, batch);
  let known = batch;
  for (;;) {
    const groups = Math.min(most, groupsLeft(known));
    if (groups <= 0) return undefined;
    const at = services.clock.now().toISOString();
    const taken = await services.batches.takeGroups(
      known,
      { ...outcomes, slots: 0 },
      { groups, slotLimit, at },
    );
    if (taken !== undefined) {
      await enqueueForMoreWorkers(services, taken, slotLimit);
      return { batch: taken, groups };
    }
    // Other workers have taken groups since the batch was read, so that fewer are left, or it does not give any.
    const current = await services.batches.get(batch.workspaceId, batch.id);
    if (current === undefined || current.groupsSent <= known.groupsSent || current.stop !== null)
      return undefined;
    known = current;
  }
}

/** If another batch of the workspace has ended, this one has more slots. */
async function enqueueForMoreWorkers(services: TakeServices, batch: Batch, slotLimit: number): Promise<void> {
  const more = slotsFor(batch, slotLimit) - batch.slots;
  if (more <= 0) return;
  const at = services.clock.now().toISOString();
  const outcomes = { completed: 0, failed: 0, slots: more };
  const taken = await services.batches.takeGroups(batch, outcomes, { groups: more, slotLimit, at });
  if (taken !== undefined)
    await services.batchQueue.send(groupMessages(taken, taken.groupsSent - more, taken.groupsSent));
}
