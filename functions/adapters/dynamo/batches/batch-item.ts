import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Item } from '#adapters/dynamo/table/table.ts';
import type { BatchStatus, WebhookEvent } from '#contract/batch-statuses.ts';
import type { Batch, BatchItem, Slot, StopReason } from '#domain/batches/batch.ts';
import type { Incomplete } from '#domain/chats/message.ts';
import type { CountedCall } from '#domain/platform/model-usage.ts';

/** A new batch: without slots and counts. */
export const storedBatch = (batch: Batch): Item => ({
  ...keys.batch(batch.workspaceId, batch.id),
  id: batch.id,
  workspace_id: batch.workspaceId,
  agent_id: batch.agentId,
  api_key_id: batch.apiKeyId,
  status: batch.status,
  total: batch.total,
  created_at: batch.createdAt,
  expires_at: batch.expiresAt,
  run: batch.executionNumber,
  ...{ next: 0, made: 0, slots: {} },
  ...(batch.webhookEvents.length > 0 && { events: batch.webhookEvents }),
});

export const batchOf = (item: Item): Batch => ({
  id: item.id as string,
  workspaceId: item.workspace_id as string,
  agentId: item.agent_id as string,
  apiKeyId: item.api_key_id as string,
  status: item.status as BatchStatus,
  total: item.total as number,
  completed: (item.completed as number | undefined) ?? 0,
  failed: (item.failed as number | undefined) ?? 0,
  createdAt: item.created_at as string,
  expiresAt: item.expires_at as string,
  completedAt: (item.completed_at as string | undefined) ?? null,
  cancelledAt: (item.cancelled_at as string | undefined) ?? null,
  stop:
    item.stop_reason === undefined
      ? null
      : { reason: item.stop_reason as StopReason, at: item.stopped_at as string },
  webhookEvents: (item.events as WebhookEvent[] | undefined) ?? [],
  executionNumber: item.run as number,
  next: item.next as number,
  slotsMade: item.made as number,
  slots: Object.fromEntries(
    Object.entries((item.slots as Record<string, Item> | undefined) ?? {}).map(([number, slot]) => [
      number,
      slotOf(slot),
    ]),
  ),
});

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
  ...(item.due !== null && { due: item.due }),
  ...(item.chatId !== null && { chat: item.chatId }),
  ...(item.messagePosition !== null && { message: item.messagePosition }),
  ...(item.error !== null && { error: item.error }),
  ...(item.incomplete !== null && { incomplete: item.incomplete }),
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
