import type { PlatformServices } from '#domain/platform/services.ts';
import type { Batch } from './batch.ts';
import { isNothingLeft, openRequests } from './open-requests.ts';
import { requeueAll } from './requeue-all.ts';
import { groupMessages, slotsFor, slotsOf } from './send-requests.ts';
import type { BatchServices } from './services.ts';

type DispatchServices = Pick<BatchServices, 'batchQueue' | 'batchWorkflow' | 'batches' | 'queueSettings'> &
  Pick<PlatformServices, 'clock'>;

/** Names and types never change, because executions of earlier versions go on. */
interface DispatchInput {
  workspaceId: string;
  batchId: string;
  taskToken: string;
  /** When the workflow has entered the state that waits, ISO 8601. Executions of earlier versions have none. */
  enteredAt?: string;
}

/**
 * Stores the task token, and then enqueues the first requests, once for a batch: as many messages as it has slots.
 * Their workers take the further requests.
 *
 * For a batch that was dispatched before, it completes the callback if no work is left, because workers that ended
 * before the token was stored could not complete it. If work is left but no message has a slot, it requeues the
 * unclaimed requests: the response to a write was lost, and its worker did not send the groups that it had taken.
 */
export const dispatchBatch =
  (services: DispatchServices) =>
  async (input: DispatchInput): Promise<void> => {
    const found = await services.batches.get(input.workspaceId, input.batchId);
    // Without the batch, which was deleted with its workspace, the workflow ends.
    const batch = found && (await services.batches.saveTaskToken(found, input.taskToken, input.enteredAt));
    if (batch === undefined) {
      await services.batchWorkflow.completeTaskCallback(input.taskToken);
      return;
    }
    if (batch.stop === null && batch.dispatchedAt === null) await enqueueFirst(services, batch);
    else await checkAfterDispatch(services, batch, input.taskToken);
  };

async function enqueueFirst(services: DispatchServices, batch: Batch): Promise<void> {
  const groups = slotsFor(batch, await slotsOf(services, batch));
  // If this call dies after the write, its retry sends the groups.
  const started = batch.groupsSent > 0 ? batch : await services.batches.enqueueFirst(batch, groups);
  await services.batchQueue.send(groupMessages(started, 0, started.groupsSent));
  await services.batches.markFirstEnqueued(started, services.clock.now().toISOString());
}

async function checkAfterDispatch(
  services: DispatchServices,
  batch: Batch,
  taskToken: string,
): Promise<void> {
  const left = await openRequests(services, batch);
  // Requests of a stopped batch with an expired lease are no reason to wait: the workflow fails them.
  const now = services.clock.now().getTime();
  const isAbandoned = batch.stop !== null && left.processing.every(({ leaseUntil }) => leaseUntil < now);
  if (isAbandoned || isNothingLeft(batch, left)) await services.batchWorkflow.completeTaskCallback(taskToken);
  else if (batch.stop === null && batch.slots <= 0) await requeueAll(services)(batch, left, 'unclaimed');
}
