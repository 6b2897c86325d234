import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Item } from '#adapters/dynamo/table/table.ts';
import type { BatchStatus } from '#contract/batch-statuses.ts';
import type { Batch, BatchItem, StopReason } from '#domain/batches/batch.ts';
import type { Incomplete } from '#domain/chats/message.ts';
import type { CountedCall } from '#domain/platform/model-usage.ts';
import type { Webhook } from '#domain/webhooks/webhook.ts';

export const storedBatch = (batch: Batch): Item => ({
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
  run: batch.executionNumber,
  ...(batch.webhook !== null && { webhook: batch.webhook }),
});

export const batchOf = (item: Item): Batch => ({
  id: item.id as string,
  workspaceId: item.workspace_id as string,
  agentId: item.agent_id as string,
  // Batches of versions without usage have none.
  apiKeyId: (item.api_key_id as string | undefined) ?? 'unknown',
  status: item.status as BatchStatus,
  total: item.total as number,
  completed: item.completed as number,
  failed: item.failed as number,
  createdAt: item.created_at as string,
  expiresAt: item.expires_at as string,
  completedAt: (item.completed_at as string | undefined) ?? null,
  cancelledAt: (item.cancelled_at as string | undefined) ?? null,
  stop:
    item.stop_reason === undefined
      ? null
      : { reason: item.stop_reason as StopReason, at: item.stopped_at as string },
  webhook: (item.webhook as Webhook | undefined) ?? null,
  executionNumber: item.run as number,
  taskToken: (item.task_token as string | undefined) ?? null,
  dispatchedAt: (item.dispatched_at as string | undefined) ?? null,
  sentAt: (item.sent_at as string | undefined) ?? null,
  groupsSent: (item.groups_sent as number | undefined) ?? 0,
  slots: (item.places as number | undefined) ?? 0,
});

/** Written at every claim and end. Short names and no texts keep it at one write unit. */
export const storedBatchItem = (
  { workspaceId, id }: Pick<Batch, 'workspaceId' | 'id'>,
  item: BatchItem,
): Item => ({
  ...keys.batchItem(workspaceId, id, item.requestIndex),
  status: item.status,
  attempt: item.attempt,
  lease: item.leaseUntil,
  ...(item.worker !== null && { worker: item.worker }),
  ...(item.brokenReplies > 0 && { broken: item.brokenReplies }),
  ...(item.lostAttempts > 0 && { lost: item.lostAttempts }),
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
  attempt: item.attempt as number,
  leaseUntil: item.lease as number,
  worker: (item.worker as string | undefined) ?? null,
  brokenReplies: (item.broken as number | undefined) ?? 0,
  lostAttempts: (item.lost as number | undefined) ?? 0,
  chatId: (item.chat as number | undefined) ?? null,
  messagePosition: (item.message as number | undefined) ?? null,
  error: (item.error as BatchItem['error'] | undefined) ?? null,
  incomplete: (item.incomplete as Incomplete | undefined) ?? null,
  calls: (item.calls as CountedCall[] | undefined) ?? [],
  processedAt: item.at === undefined ? null : new Date(item.at as number).toISOString(),
});
