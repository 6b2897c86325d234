import { keys } from '#adapters/dynamo/table/keys.ts';
import { attributesOf, fieldsOf, type Item, withoutNulls } from '#adapters/dynamo/table/table.ts';
import type { WebhookEvent } from '#contract/batch-statuses.ts';
import type { Batch, BatchItem, Slot, StopReason } from '#domain/batches/batch.ts';
import type { Incomplete } from '#domain/chats/message.ts';
import type { CountedCall } from '#domain/platform/model-usage.ts';

/** A new batch: without slots and counts. */
export function storedBatch(batch: Batch): Item {
  const { completed, failed, completedAt, cancelledAt, stop, ...stored } = batch;
  const { webhookEvents, executionNumber, slotsMade, ...same } = stored;
  return {
    ...keys.batch(batch.workspaceId, batch.id),
    ...attributesOf(same),
    ...{ run: executionNumber, next: 0, made: 0, slots: {} },
    ...(webhookEvents.length > 0 && { events: webhookEvents }),
  };
}

export function batchOf(item: Item): Batch {
  const { number, run, made, events, slots, stop_reason: reason, stopped_at: at, ...same } = item;
  const slotItems = Object.entries((slots as Record<string, Item> | undefined) ?? {});
  return {
    ...{ completed: 0, failed: 0, completedAt: null, cancelledAt: null },
    ...fieldsOf<Batch>(same),
    stop: reason === undefined ? null : { reason: reason as StopReason, at: at as string },
    webhookEvents: (events as WebhookEvent[] | undefined) ?? [],
    executionNumber: run as number,
    slotsMade: made as number,
    slots: Object.fromEntries(slotItems.map(([name, slot]) => [name, slotOf(slot)])),
  };
}

const slotOf = (slot: Item): Slot => ({
  epoch: slot.e as number,
  owner: (slot.w as string | undefined) ?? null,
  takes: slot.n as number,
  until: slot.t as number,
  isClean: slot.x as boolean,
  first: slot.b as number,
  size: slot.s as number,
  named: slot.r as Record<number, number>,
});

/** Short names, because a batch has up to as many slots as its workspace, and each change writes all of them. */
export const newSlot = (epoch: number, until: number): Item => ({
  ...{ e: epoch, n: 0, t: until, x: true, b: 0, s: 0, r: {} },
});

/** Written at every attempt and end. Short names and no texts keep it at one write unit. */
export const storedBatchItem = (
  { workspaceId, id }: Pick<Batch, 'workspaceId' | 'id'>,
  item: BatchItem,
): Item => ({
  ...keys.batchItem(workspaceId, id, item.requestIndex),
  status: item.status,
  k: item.slot,
  e: item.epoch,
  attempt: item.attempt,
  ...(item.brokenReplies > 0 && { broken: item.brokenReplies }),
  ...(item.lostAttempts > 0 && { lost: item.lostAttempts }),
  ...withoutNulls({
    ...{ due: item.due, chat: item.chatId, message: item.messagePosition },
    ...{ error: item.error, incomplete: item.incomplete },
  }),
  ...(item.calls.length > 0 && { calls: item.calls }),
  ...(item.processedAt !== null && { at: Date.parse(item.processedAt) }),
});

export const itemOf = (item: Item): BatchItem => ({
  requestIndex: Number(item.sk),
  status: item.status as BatchItem['status'],
  slot: item.k as number,
  epoch: item.e as number,
  attempt: item.attempt as number,
  brokenReplies: (item.broken as number | undefined) ?? 0,
  lostAttempts: (item.lost as number | undefined) ?? 0,
  due: (item.due as number | undefined) ?? null,
  chatId: (item.chat as number | undefined) ?? null,
  messagePosition: (item.message as number | undefined) ?? null,
  error: (item.error as BatchItem['error'] | undefined) ?? null,
  incomplete: (item.incomplete as Incomplete | undefined) ?? null,
  calls: (item.calls as CountedCall[] | undefined) ?? [],
  processedAt: item.at === undefined ? null : new Date(item.at as number).toISOString(),
});
