import { isOpen } from './batch.ts';
import type { Services } from './services.ts';
import { needsCheck, type SlotServices, topUpSlots } from './slots.ts';

type DispatchServices = SlotServices & Services<'batchWorkflow'>;

/** Names and types never change, because executions of earlier versions go on. */
interface DispatchInput {
  workspaceId: string;
  batchId: string;
  taskToken: string;
  /** When the workflow has entered the state that waits, ISO 8601. */
  enteredAt: string;
}

/**
 * Stores the task token, and makes the slots of the batch. Completes the callback if a worker could not, because it had
 * ended before the token was stored.
 */
export async function dispatchBatch(
  services: DispatchServices,
  { workspaceId, batchId, taskToken, enteredAt }: DispatchInput,
): Promise<void> {
  const { batches, batchWorkflow, clock } = services;
  const found = await batches.get(workspaceId, batchId);
  if (found !== undefined && isOpen(found)) await batches.saveTaskToken(found, taskToken, enteredAt);
  // Read after the token was stored: a worker removes its slot, and then reads the token.
  const batch = await batches.get(workspaceId, batchId);
  // Without the batch, which was deleted with its workspace, the workflow ends.
  if (batch === undefined || !isOpen(batch) || needsCheck(batch, clock.now().getTime()))
    await batchWorkflow.completeTaskCallback(taskToken);
  else await topUpSlots(services, batch, true);
}
