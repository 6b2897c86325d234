import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Item } from '#adapters/dynamo/table/table.ts';
import type { BatchStatus } from '#contract/batch-statuses.ts';
import type { Batch, BatchItem, StopReason } from '#domain/batches/batch.ts';
import type { Incomplete } from '#domain/chats/message.ts';
import type { CountedCall } from '#domain/platform/model-usage.ts';
import type { Webhook } from '#domain/webhooks/webhook.ts';

export const batchRow = (batch: Batch): Item => ({
  ...keys.batch(batch.workspaceId, batch.id),
  id: batch.id,
  workspace_id: batch.workspaceId,
  agent_id: batch.agentId,
  api_key_id: batch.apiKeyId,
  status: batch.status,
  total: batch.total,
  completed: batch.completed,
  failed: batch.failed,
  created_at: batch.createdAt,
  expires_at: batch.expiresAt,
  run: batch.run,
  ...(batch.webhook !== null && { webhook: batch.webhook }),
});

export const batchOf = (row: Item): Batch => ({
  id: row.id as string,
  workspaceId: row.workspace_id as string,
  agentId: row.agent_id as string,
  // Of a batch from before usage was counted.
  apiKeyId: (row.api_key_id as string | undefined) ?? 'unknown',
  status: row.status as BatchStatus,
  total: row.total as number,
  completed: row.completed as number,
  failed: row.failed as number,
  createdAt: row.created_at as string,
  expiresAt: row.expires_at as string,
  completedAt: (row.completed_at as string | undefined) ?? null,
  cancelledAt: (row.cancelled_at as string | undefined) ?? null,
  stop:
    row.stop_reason === undefined
      ? null
      : { reason: row.stop_reason as StopReason, at: row.stopped_at as string },
  webhook: (row.webhook as Webhook | undefined) ?? null,
  run: row.run as number,
  taskToken: (row.task_token as string | undefined) ?? null,
  dispatchedAt: (row.dispatched_at as string | undefined) ?? null,
  sentAt: (row.sent_at as string | undefined) ?? null,
  groupsSent: (row.groups_sent as number | undefined) ?? 0,
  places: (row.places as number | undefined) ?? 0,
});

/** Written at every claim and end: short names and no texts keep it one write unit. */
export const itemRow = ({ workspaceId, id }: Pick<Batch, 'workspaceId' | 'id'>, item: BatchItem): Item => ({
  ...keys.batchItem(workspaceId, id, item.position),
  status: item.status,
  attempt: item.attempt,
  lease: item.leaseUntil,
  ...(item.brokenReplies > 0 && { broken: item.brokenReplies }),
  ...(item.lostAttempts > 0 && { lost: item.lostAttempts }),
  ...(item.chatId !== null && { chat: item.chatId }),
  ...(item.messagePosition !== null && { message: item.messagePosition }),
  ...(item.error !== null && { error: item.error }),
  ...(item.incomplete !== null && { incomplete: item.incomplete }),
  ...(item.calls.length > 0 && { calls: item.calls }),
  ...(item.processedAt !== null && { at: Date.parse(item.processedAt) }),
});

export const itemOf = (row: Item): BatchItem => ({
  position: Number(row.sk),
  status: row.status as BatchItem['status'],
  attempt: row.attempt as number,
  leaseUntil: row.lease as number,
  brokenReplies: (row.broken as number | undefined) ?? 0,
  lostAttempts: (row.lost as number | undefined) ?? 0,
  chatId: (row.chat as number | undefined) ?? null,
  messagePosition: (row.message as number | undefined) ?? null,
  error: (row.error as BatchItem['error'] | undefined) ?? null,
  incomplete: (row.incomplete as Incomplete | undefined) ?? null,
  calls: (row.calls as CountedCall[] | undefined) ?? [],
  processedAt: row.at === undefined ? null : new Date(row.at as number).toISOString(),
});
