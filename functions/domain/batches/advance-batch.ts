import { type CloseTurnServices, closeAbandonedTurn } from '#domain/chats/turn.ts';
import type { DeliveryOwner } from '#domain/webhooks/webhook.ts';
import {
  type Batch,
  type BatchItem,
  chatLeaseOf,
  deliveryOf,
  isAlive,
  isOpen,
  isStarted,
  outcomeOf,
  outcomeOfStop,
  type StoredRequest,
  unclaimedItem,
} from './batch.ts';
import type { Services } from './batch-store.ts';
import { readRequests } from './batches.ts';
import { needsCheck, type SlotServices, topUpSlots } from './slots.ts';

/**
 * The input of the task `dispatch-batch`. Names and types never change, because executions that an earlier release has
 * started may still run.
 */
interface DispatchInput extends DeliveryOwner {
  taskToken: string;
  enteredAt: string;
}

/** Completes the callback if the batch is over or needs a check: before the token was stored, no one else could. */
export async function dispatchBatch(
  services: SlotServices & Services<'batchWorkflow'>,
  { workspaceId, batchId, taskToken, enteredAt }: DispatchInput,
): Promise<void> {
  const { batches, batchWorkflow, clock } = services;
  const found = await batches.get(workspaceId, batchId);
  if (found !== undefined && isOpen(found)) await batches.saveTaskToken(found, taskToken, enteredAt);
  // Read after the token is stored. A worker removes its slot before it reads the token, so one sees the other's write.
  const batch = await batches.get(workspaceId, batchId);
  if (batch === undefined || !isOpen(batch) || needsCheck(batch, clock.now().getTime()))
    await batchWorkflow.completeTaskCallback(taskToken);
  else await topUpSlots(services, batch, true);
}

interface EndServices extends CloseTurnServices, Services<'batches' | 'clock' | 'meter'> {}

type AdvanceServices = EndServices & SlotServices & Services<'log'>;

/** `wait`: the batch has work; `finish`: it is stopped, but requests may still run; `over`: it has ended or is gone. */
type BatchPhase = 'wait' | 'finish' | 'over';

/** If the batch ends, also tops up the slots of other batches of the workspace. */
export async function advanceBatch(
  services: AdvanceServices,
  { workspaceId, batchId }: DeliveryOwner,
): Promise<{ batch: Batch | undefined; stage: BatchPhase }> {
  for (;;) {
    const batch = await services.batches.get(workspaceId, batchId);
    if (!isOpenBatch(batch)) return { batch, stage: 'over' };
    if (await stopExpired(services, batch)) continue;
    if (!(await failAbandoned(services, batch, false))) continue;
    if (!(await closeIfEnded(services, batch)))
      return { batch, stage: batch.stop === null ? 'wait' : 'finish' };
    await topUpOthers(services, batch);
  }
}

async function stopExpired({ batches, clock }: AdvanceServices, batch: Batch): Promise<boolean> {
  const now = clock.now();
  if (batch.stop !== null || now.getTime() < Date.parse(batch.expiresAt)) return false;
  await batches.stop(batch, { reason: 'expired', at: now.toISOString() });
  return true;
}

const isOpenBatch = (batch: Batch | undefined): batch is Batch => batch !== undefined && isOpen(batch);

/** Requests without a result fail, even if their workers are alive. Undefined if the batch was deleted. */
export async function failBatch(
  services: EndServices,
  { workspaceId, batchId }: DeliveryOwner,
): Promise<Batch | undefined> {
  const { batches, clock } = services;
  const found = await batches.get(workspaceId, batchId);
  if (!isOpenBatch(found)) return found;
  await batches.stop(found, { reason: 'failed', at: clock.now().toISOString() });
  const batch = await batches.get(workspaceId, batchId);
  if (batch === undefined) return undefined;
  await failAbandoned(services, batch, true);
  await closeIfEnded(services, batch);
  return batches.get(workspaceId, batchId);
}

/**
 * Of a stopped batch, removes the slots that no living worker owns, and fails the started requests that none handles.
 * @param isForced treats all workers as lost
 * @returns false if one of these slots was renewed, passed or acquired after the batch was read; always true if
 *   `isForced`
 */
async function failAbandoned(
  services: Services<'batches' | 'clock'>,
  batch: Batch,
  isForced: boolean,
): Promise<boolean> {
  if (batch.stop === null) return true;
  const { status, error, processedAt } = outcomeOfStop(batch.stop);
  const now = services.clock.now().getTime();
  const slots = Object.values(batch.slots);
  const lost = Object.entries(batch.slots).filter(([, slot]) => isForced || !isAlive(slot, now));
  // Without its slot, a worker that was frozen stops. Otherwise it could store a turn in a chat that was released.
  const retired = await Promise.all(
    lost.map(([number, { epoch, until }]) =>
      services.batches.retire(batch, { number: Number(number), epoch, ...(!isForced && { until }) }),
    ),
  );
  if (!isForced && retired.includes(undefined)) return false;
  const isWorkedOn = ({ requestIndex, item }: StoredRequest): boolean =>
    slots.some((slot) => {
      const { epoch, first, size, named } = slot;
      const isOfTake = requestIndex in named || (requestIndex >= first && requestIndex < first + size);
      return isAlive(slot, now) && (item === undefined ? isOfTake : item.epoch === epoch);
    });
  for (const request of await readRequests(services, batch)) {
    const { requestIndex, item } = request;
    const isFinal = item?.status === 'success' || item?.status === 'failed';
    if (isFinal || !isStarted(batch, request)) continue;
    if (!isForced && isWorkedOn(request)) continue;
    await services.batches.replaceItem(batch, item, {
      ...(item ?? unclaimedItem(requestIndex)),
      ...{ status, error, processedAt, due: null },
    });
  }
  return true;
}

/** Returns false if requests have not ended. True does not mean that this call has completed the batch. */
async function closeIfEnded(services: EndServices, batch: Batch): Promise<boolean> {
  const requests = await readRequests(services, batch);
  const statuses = requests.map((request) => outcomeOf(batch, request).status);
  if (statuses.some((status) => status === 'pending' || status === 'processing')) return false;
  // Chats are released before the completion: a crash between the two could otherwise leave them in use for minutes.
  // A worker acquires the lease of an existing chat (`history_id`) before the item has the id of the chat.
  const unanswered = requests.flatMap(({ requestIndex, item, entry }) =>
    item?.status === 'waiting' || item?.status === 'failed'
      ? [{ requestIndex, chatId: item.chatId ?? entry.historyId }]
      : [],
  );
  await releaseChats(services, batch, unanswered);
  const now = services.clock.now();
  const at = now.toISOString();
  const status =
    batch.status === 'cancelling' ? 'cancelled' : batch.stop?.reason === 'failed' ? 'failed' : 'completed';
  const completed = statuses.filter((each) => each === 'success').length;
  const final = {
    status,
    completed,
    failed: batch.total - completed,
    completedAt: status === 'cancelled' ? null : at,
    cancelledAt: status === 'cancelled' ? at : null,
  } as const;
  if (await services.batches.complete(batch, final, deliveryOf({ ...batch, ...final })))
    services.meter.batchEnded(status, now.getTime() - Date.parse(batch.createdAt));
  return true;
}

async function releaseChats(
  services: CloseTurnServices,
  batch: Batch,
  items: readonly Pick<BatchItem, 'requestIndex' | 'chatId'>[],
): Promise<void> {
  await Promise.all(
    items.map(async ({ chatId, requestIndex }) => {
      if (chatId === null) return;
      const chat = await services.chats.get(batch.workspaceId, chatId);
      if (chat?.lease?.id === chatLeaseOf(batch, requestIndex)) await closeAbandonedTurn(services, chat);
    }),
  );
}

async function topUpOthers(services: AdvanceServices, { workspaceId }: Batch): Promise<void> {
  const { batches, log, queueSettings } = services;
  try {
    const query = { limit: queueSettings.workspaceSlots, offset: 0 };
    const others = await batches.page(workspaceId, { status: 'in_progress' }, query);
    await Promise.all(others.batches.map((batch) => topUpSlots(services, batch)));
  } catch (error) {
    // The reconciler makes these slots later.
    log.warn('The other batches of a workspace got no further slots', { error });
  }
}
