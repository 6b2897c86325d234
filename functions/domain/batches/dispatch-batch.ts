import type { PlatformServices } from '#domain/platform/services.ts';
import { isNothingLeft, openRequests } from './open-requests.ts';
import { requeueAll } from './requeue-all.ts';
import { groupMessages, groupsLeft, slotsOf } from './send-requests.ts';
import type { BatchServices } from './services.ts';

type DispatchServices = Pick<BatchServices, 'batchQueue' | 'batchWorkflow' | 'batches' | 'queueSettings'> &
  Pick<PlatformServices, 'clock'>;

/**
 * Notes down what wakes the workflow, and then puts the first requests into the queue, once for a batch: as many as it has
 * places for; who ends some sends the next. When there is nothing to wait for, it wakes the workflow itself: what ended
 * before the token was noted has told nobody. When there is something, but no message that could do it, since the answer
 * to a write got lost and its sender took other requests for those to be sent, they are sent now.
 */
export const dispatchBatch =
  (services: DispatchServices) =>
  async (input: { workspaceId: string; batchId: string; taskToken: string }): Promise<void> => {
    const found = await services.batches.get(input.workspaceId, input.batchId);
    if (found === undefined) throw new Error(`There is no batch ${input.batchId}`);
    const batch = await services.batches.saveTaskToken(found, input.taskToken);
    if (batch === undefined) {
      await services.batchWorkflow.completeTaskCallback(input.taskToken);
      return;
    }
    if (batch.stop === null && batch.dispatchedAt === null) {
      const groups = Math.min(await slotsOf(services, batch), groupsLeft(batch));
      // A call that died behind this write left it to the next one to send them.
      const started = batch.groupsSent > 0 ? batch : await services.batches.enqueueFirst(batch, groups);
      await services.batchQueue.send(groupMessages(started, 0, started.groupsSent));
      await services.batches.markFirstEnqueued(started, services.clock.now().toISOString());
      return;
    }
    const left = await openRequests(services, batch);
    // Of a stopped batch, nothing waits for requests that lost their worker: the workflow ends them.
    const now = services.clock.now().getTime();
    const isAbandoned = batch.stop !== null && left.processing.every(({ leaseUntil }) => leaseUntil < now);
    if (isAbandoned || isNothingLeft(batch, left))
      await services.batchWorkflow.completeTaskCallback(input.taskToken);
    else if (batch.stop === null && batch.slots <= 0) await requeueAll(services)(batch, left, 'unclaimed');
  };
