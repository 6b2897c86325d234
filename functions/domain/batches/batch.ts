import type { BatchResource } from '#contract/batch.ts';
import type { BatchResultStatus, BatchStatus } from '#contract/batch-statuses.ts';
import type { Incomplete } from '#domain/chats/message.ts';
import type { CountedCall } from '#domain/platform/model-usage.ts';
import type { Webhook } from '#domain/webhooks/webhook.ts';

/** Why nothing of a batch is begun any more (specification, sections 3.1, 3.2 and 7.4). */
export type StopReason = 'cancelled' | 'expired' | 'failed';

export interface Batch {
  id: string;
  workspaceId: string;
  agentId: string;
  /** Of the key that it was created with: what it uses is that key's usage. */
  apiKeyId: string;
  status: BatchStatus;
  total: number;
  /** Exact once the batch has ended. Before that, what workers have told so far: clients are told a tally (tally-batch.ts). */
  completed: number;
  failed: number;
  createdAt: string;
  expiresAt: string;
  completedAt: string | null;
  cancelledAt: string | null;
  /** Set in the write after which no request can be begun: those that were not are failed from then on. */
  stop: { reason: StopReason; at: string } | null;
  webhook: Webhook | null;
  /** Which execution of the workflow carries the batch; a later one takes over when it is gone. */
  executionNumber: number;
  /** What wakes the workflow from its wait. */
  taskToken: string | null;
  /** When its first requests had been put into the queue. */
  dispatchedAt: string | null;
  /** When further ones last were, or such as had been lost. */
  sentAt: string | null;
  /** How many groups of its requests, in input order, were put into the queue so far. */
  groupsSent: number;
  /** Messages of the batch that are in the queue or being done, as far as crashes let anyone know. */
  slots: number;
}

/** Requests that one message names, and one call of a worker does. */
export const requestsPerGroup = 10;

/** The reply lease of a request's chat is the request's, whoever does it: its next attempt finds its own. */
export const chatLeaseOf = (batch: Pick<Batch, 'id'>, position: number): string =>
  `batch:${batch.id}:${position}`;

export const groupsOf = ({ total }: Pick<Batch, 'total'>): number => Math.ceil(total / requestsPerGroup);

export const isOpen = ({ status }: Pick<Batch, 'status'>): boolean =>
  status === 'in_progress' || status === 'cancelling';

/** Whether the state that the batch is in is an event that its webhook is called for. */
export const wantsWebhook = ({ status, webhook }: Pick<Batch, 'status' | 'webhook'>): boolean =>
  webhook?.events.some((event) => event === status) ?? false;

/** As far as the counters know, which may be behind. */
export const mayHaveEnded = ({ stop, completed, failed, total }: Batch): boolean =>
  stop !== null || completed + failed >= total;

/** One request of a batch as its client gave it. Positions count from 0 in input order. */
export interface BatchRequest {
  position: number;
  customId: string;
  message: string;
  agentId: string;
  externalUserId: string | null;
  /** Of the chat that is made for it. */
  name: string;
  attachedFileUuids: string[];
  historyId: number | null;
  /** The next request of the same history, begun when this one has ended; null when there is none. */
  next: number | null;
  /** The one before it. */
  previous: number | null;
}

/** A request's part in all that does not need its text. */
export interface ManifestEntry {
  customId: string;
  historyId: number | null;
  next: number | null;
}

/** What has become of a request that was begun. There is none for a request that was not. */
export interface BatchItem {
  position: number;
  /** `waiting`: begun in vain, and to be tried again. */
  status: 'processing' | 'waiting' | 'success' | 'failed';
  /** Counts the claims: who holds an older one has lost the request. */
  attempt: number;
  /** Replies that a model broke off. */
  brokenReplies: number;
  /** Claims that ended with their lease: the worker had died, or failed without being able to say so. */
  lostAttempts: number;
  /** Milliseconds since the epoch; past it anyone may take over what is `processing`, or try what is `waiting`. */
  leaseUntil: number;
  /** The chat of the request, once there is one, and where in it its own message stands. */
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

/** A request's state as clients see it: what was not begun when the batch was stopped has failed at that moment. */
export function outcomeOf(batch: Pick<Batch, 'stop'>, item: BatchItem | undefined): Outcome {
  if (item !== undefined && item.status !== 'waiting')
    return { status: item.status, error: item.error, processedAt: item.processedAt };
  if (batch.stop === null) return { status: 'pending', error: null, processedAt: null };
  return { status: 'failed', error: stopErrors[batch.stop.reason], processedAt: batch.stop.at };
}

/** Of a batch whose counts are exact. */
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
