import type { BatchResource } from '#contract/batch.ts';
import type { BatchResultStatus, BatchStatus } from '#contract/batch-statuses.ts';
import { batchLeasePrefix } from '#domain/chats/chat.ts';
import type { Incomplete } from '#domain/chats/message.ts';
import type { CountedCall } from '#domain/platform/model-usage.ts';
import type { Webhook } from '#domain/webhooks/webhook.ts';

/** Why a batch starts no request any more (specification, sections 3.1, 3.2 and 7.4). */
export type StopReason = 'cancelled' | 'expired' | 'failed';

export interface Batch {
  id: string;
  workspaceId: string;
  agentId: string;
  /** The API key that created the batch; its usage is counted for this key. */
  apiKeyId: string;
  status: BatchStatus;
  total: number;
  /**
   * Exact after the end. Before it, a lower bound of what workers have recorded; clients get counts of the items
   * (count-batch.ts).
   */
  completed: number;
  failed: number;
  createdAt: string;
  expiresAt: string;
  completedAt: string | null;
  cancelledAt: string | null;
  /** Set when the batch stops. Then no further request is started, and requests that were not started have failed. */
  stop: { reason: StopReason; at: string } | null;
  webhook: Webhook | null;
  /** Number of the current execution of the workflow. If the execution is lost, a new one has the next number. */
  executionNumber: number;
  /** The token by which workers complete the callback of the workflow's task. */
  taskToken: string | null;
  /** When the first requests of the batch had been enqueued; null before that. */
  dispatchedAt: string | null;
  /** When further groups were last taken, or lost requests were last enqueued. */
  sentAt: string | null;
  /** Number of its request groups, in input order, that were enqueued or taken by a worker. */
  groupsSent: number;
  /**
   * Its in-flight message slots in use: a message in the queue that holds one, or a worker that takes request groups. A
   * crash may leave the number wrong.
   */
  slots: number;
}

/** Requests of one stored group, and most requests of one message. */
export const requestsPerGroup = 10;

/** Id of the chat lease of a request, the same for all its attempts: a new attempt finds the lease of the last one. */
export const chatLeaseOf = (batch: Pick<Batch, 'id'>, requestIndex: number): string =>
  `${batchLeasePrefix}${batch.id}:${requestIndex}`;

export const groupsOf = ({ total }: Pick<Batch, 'total'>): number => Math.ceil(total / requestsPerGroup);

export const isOpen = ({ status }: Pick<Batch, 'status'>): boolean =>
  status === 'in_progress' || status === 'cancelling';

/** Whether the webhook of the batch wants the event of its status. */
export const wantsWebhook = (batch: Pick<Batch, 'status' | 'webhook'> | undefined): boolean =>
  batch?.webhook?.events.some((event) => event === batch.status) ?? false;

/** Decides by the counters. They never decrease, so only false may be out of date. */
export const mayHaveEnded = ({ stop, completed, failed, total }: Batch): boolean =>
  stop !== null || completed + failed >= total;

/** A request of a batch as its client sent it. `requestIndex` counts from 0, in input order. */
export interface BatchRequest {
  requestIndex: number;
  customId: string;
  message: string;
  agentId: string;
  externalUserId: string | null;
  /** Name of the chat that is created for the request. */
  name: string;
  attachedFileUuids: string[];
  historyId: number | null;
  /** The request that starts after this one in the same chat (`history_id`); null if there is none. */
  next: number | null;
  /** The request that comes before this one in the same chat (`history_id`); null if there is none. */
  previous: number | null;
}

/** A request without its text. */
export interface ManifestEntry {
  customId: string;
  historyId: number | null;
  next: number | null;
}

/** The state of a request. A request that was never claimed has no item. */
export interface BatchItem {
  requestIndex: number;
  /** `waiting`: an attempt failed and a retry is scheduled. */
  status: 'processing' | 'waiting' | 'success' | 'failed';
  /** Number of claims. A worker with a lower number has lost the request. */
  attempt: number;
  /**
   * Number of failed replies. Not counted: replies that failed before the first output because the model was busy,
   * unavailable or silent.
   */
  brokenReplies: number;
  /** Number of claims whose lease expired: the worker died, or could not store a result. */
  lostAttempts: number;
  /**
   * Milliseconds since the epoch. After it, any worker may claim the request: its lease has expired, or its retry is
   * due.
   */
  leaseUntil: number;
  /** Name of the worker with a slot that made the newest claim, unique in the batch; null for a worker without one. */
  worker: string | null;
  /** The chat of the request, and the position of its message there; null as long as there is none. */
  chatId: number | null;
  messagePosition: number | null;
  error: { code: number; message: string } | null;
  incomplete: Incomplete | null;
  calls: CountedCall[];
  processedAt: string | null;
}

/** Error codes of results (specification, section 7.4). */
const stopErrors: Readonly<Record<StopReason, { code: number; message: string }>> = {
  cancelled: { code: 499, message: 'The batch was cancelled' },
  expired: { code: 408, message: 'The batch timed out before the request was processed' },
  failed: { code: 500, message: 'The batch could not be carried through' },
};

export interface Outcome {
  status: BatchResultStatus;
  error: { code: number; message: string } | null;
  processedAt: string | null;
}

/**
 * The result of a request as clients see it. A request that was not started before the batch was stopped has failed.
 */
export function outcomeOf(batch: Pick<Batch, 'stop'>, item: BatchItem | undefined): Outcome {
  if (item !== undefined && item.status !== 'waiting')
    return { status: item.status, error: item.error, processedAt: item.processedAt };
  if (batch.stop === null) return { status: 'pending', error: null, processedAt: null };
  return { status: 'failed', error: stopErrors[batch.stop.reason], processedAt: batch.stop.at };
}

/** @param batch with exact counts */
export function batchResource(batch: Batch): BatchResource {
  return {
    id: batch.id,
    status: batch.status,
    agent_id: batch.agentId,
    total_requests: batch.total,
    completed_requests: batch.completed,
    failed_requests: batch.failed,
    created_at: batch.createdAt,
    completed_at: batch.completedAt,
    cancelled_at: batch.cancelledAt,
    expires_at: batch.expiresAt,
  };
}
