import type { BatchResource, WebhookPayload } from '#contract/batch.ts';
import type { BatchResultStatus, BatchStatus, WebhookEvent } from '#contract/batch-statuses.ts';
import type { Metadata } from '#contract/metadata.ts';
import { batchLeasePrefix } from '#domain/chats/chat.ts';
import type { Incomplete } from '#domain/chats/message.ts';
import type { CountedCall } from '#domain/platform/services.ts';
import type { WebhookDelivery } from '#domain/webhooks/services.ts';

/** Why a batch starts and retries no further request (specification, sections 3.1, 3.2 and 7.4). */
export type StopReason = 'cancelled' | 'expired' | 'failed';

export interface Batch {
  id: string;
  workspaceId: string;
  agentId: string;
  /** Absent if there are no pairs. */
  metadata?: Metadata | undefined;
  /** The API key that created the batch; its usage is counted for this key. */
  apiKeyId: string;
  status: BatchStatus;
  total: number;
  /**
   * Number of requests that have succeeded. This and `failed` are stored at the end of the batch. Until then they are 0
   * as stored, and `countBatch` in `read-batches.ts` computes them for clients.
   */
  completed: number;
  failed: number;
  createdAt: string;
  expiresAt: string;
  completedAt: string | null;
  cancelledAt: string | null;
  /**
   * Why and when (ISO 8601) the batch was stopped; null if it was not. After a stop, no further request is started or
   * retried: requests that were not started, or that wait for a retry, have failed.
   */
  stop: { reason: StopReason; at: string } | null;
  /** The events for which its webhook is called; empty without a webhook. */
  webhookEvents: readonly WebhookEvent[];
  /**
   * Whether its requests have a `response_format` other than `text`. The format is a separate item: in the item of the
   * batch, each update would pay for its bytes.
   */
  hasFormat?: true;
  /** Number of the current execution of the workflow. A new one, as after a loss, has the next number. */
  executionNumber: number;
  /**
   * Requests below this index have started, except those that follow another request in their history. It may be larger
   * than `total`.
   */
  next: number;
  /** Number of all slots that were ever made; 0 before the batch was dispatched. */
  slotsMade: number;
  /** The slots by their numbers, from 1. */
  slots: Readonly<Record<number, Slot>>;
}

/** A numbered right to work for a batch. A message of the queue only offers it to a worker. */
export interface Slot {
  /**
   * A number that rises with each owner. No two owners of slots of a batch have the same epoch, so an item identifies
   * its worker by it.
   */
  epoch: number;
  /** Random name of the worker that owns the slot; null if no worker owns it. */
  owner: string | null;
  /** Number of takes that this owner has made. */
  takes: number;
  /** Epoch milliseconds. After it the slot is silent: its worker or its message may be lost. */
  until: number;
  /** True only if former owners have left nothing except new requests. */
  isClean: boolean;
  /** Index of the first of the new requests that the last take has started. */
  first: number;
  /** Number of indexes that the last take covers, from `first` on. They may reach beyond the `total` of the batch. */
  size: number;
  /** The requests that the last take has started by their index, each with the number of its attempt. */
  named: Readonly<Record<number, number>>;
}

/** The number of a slot, with the epoch of its worker or its message. */
export interface OwnedSlot {
  number: number;
  epoch: number;
}

/** Milliseconds by which the clocks of two functions may differ. */
const clockDifference = 2000;

/** Whether a worker owns the slot and has renewed it in time. */
export const isAlive = (slot: Slot | undefined, now: number): slot is Slot =>
  slot !== undefined && slot.owner !== null && slot.until + clockDifference >= now;

/**
 * Number of requests that are stored in one item. New requests are taken in whole groups. Ten texts of 1 KB cost about
 * 11 write units in one item, and 20 in ten items.
 */
export const requestsPerGroup = 10;

/**
 * Id of the chat lease of a request. All attempts of the request have the same id, so a new attempt recognizes the
 * lease of the last one.
 */
export const chatLeaseOf = (batch: Pick<Batch, 'id'>, requestIndex: number): string =>
  `${batchLeasePrefix}${batch.id}:${requestIndex}`;

export const isOpen = ({ status }: Pick<Batch, 'status'>): boolean =>
  status === 'in_progress' || status === 'cancelling';

/** Whether the batch has a webhook that is called for the event of the batch's status. */
export const wantsWebhook = (batch: Pick<Batch, 'status' | 'webhookEvents'> | undefined): boolean =>
  batch?.webhookEvents.some((event) => event === batch.status) ?? false;

/** Number of requests from the index `next` on. */
export const leftOf = ({ total, next }: Pick<Batch, 'total' | 'next'>): number => Math.max(total - next, 0);

/** A request of a batch as its client sent it. `requestIndex` counts from 0, in input order. */
export interface BatchRequest {
  requestIndex: number;
  customId: string;
  message: string;
  agentId: string;
  externalUserId: string | null;
  /** Name of the chat that is created for the request, if it has no `historyId`. */
  name: string;
  attachedFileUuids: string[];
  /** The chat that the request continues; null if it continues none. */
  historyId: number | null;
  /** Index of the request that starts after this one in the same chat (`history_id`); null if there is none. */
  next: number | null;
  /** Index of the request that comes before this one in the same chat (`history_id`); null if there is none. */
  previous: number | null;
}

/** An entry of a batch's manifest, which lists the requests without their texts. */
export interface ManifestEntry {
  customId: string;
  historyId: number | null;
  next: number | null;
}

/**
 * The indexes of the requests that follow another request in their history. A take starts them by their index, after
 * that request has ended.
 */
export const successorsIn = (manifest: readonly ManifestEntry[]): Set<number> =>
  new Set(manifest.flatMap(({ next }) => next ?? []));

/** The state of a request. A request without an item may have been started: see `isStarted`. */
export interface BatchItem {
  requestIndex: number;
  /** `waiting`: for a retry, unless the batch is stopped. */
  status: 'processing' | 'waiting' | 'success' | 'failed';
  /** Number of the slot that has started the request. It never changes; 0 if the request was ended without a worker. */
  slot: number;
  /** The epoch of the request's last worker; 0 if the request was ended without a worker. */
  epoch: number;
  /**
   * Number of the attempt, from 1; 0 if the request was ended without a worker. It rises when a worker takes the
   * request over, from a lost worker or after a wait, but not after a short wait (`waitsAtOnce`).
   */
  attempt: number;
  /** Number of broken replies (see `AttemptEnd`), as far as they were stored. */
  brokenReplies: number;
  /** Number of times that the request was taken over from a worker that had not ended its attempt. */
  lostAttempts: number;
  /**
   * The earliest time of the next attempt of a waiting request, in milliseconds since the epoch; null for any other
   * request.
   */
  due: number | null;
  /** Id of the chat in which the request has opened its turn, or that was created for it; null before that. */
  chatId: number | null;
  /** Position of the request's message in the chat; null while it is unknown. */
  messagePosition: number | null;
  /** Why the request has failed, with a code of a result (specification, section 7.4); null if it has not failed. */
  error: { code: number; message: string } | null;
  incomplete: Incomplete | null;
  /** The model calls of the reply of a successful request, or one call with their sums; empty for any other request. */
  calls: CountedCall[];
  /** When the request ended, ISO 8601; null before. */
  processedAt: string | null;
}

/** The errors of requests that a stopped batch does not start or retry (specification, section 7.4). */
const stopErrors: Readonly<Record<StopReason, { code: number; message: string }>> = {
  cancelled: { code: 499, message: 'The batch was cancelled' },
  expired: { code: 408, message: 'The batch timed out before the request was processed' },
  failed: { code: 500, message: 'The batch could not be carried through' },
};

export interface Outcome extends Pick<BatchItem, 'error' | 'processedAt'> {
  status: BatchResultStatus;
}

/**
 * Whether a worker has started the request, or the next attempt of a waiting one. The take is stored before the item,
 * so a started request may have no item, or still a waiting one.
 * @param isSuccessor whether the request follows another one in its history (`successorsIn`)
 */
export function isStarted(
  { next, slots }: Pick<Batch, 'next' | 'slots'>,
  requestIndex: number,
  item: BatchItem | undefined,
  isSuccessor: boolean,
): boolean {
  if (item !== undefined && item.status !== 'waiting') return true;
  const attempt = item?.attempt ?? 0;
  if (Object.values(slots).some(({ named }) => (named[requestIndex] ?? 0) > attempt)) return true;
  return item === undefined && requestIndex < next && !isSuccessor;
}

/**
 * The status of a request as clients see it, with its error and its end. A request that was not started, or that waited
 * for a retry, when the batch was stopped has failed.
 * @param batch read before the item. A stop and a start change the same stored batch, so one of them comes first
 */
export function outcomeOf(
  batch: Pick<Batch, 'next' | 'slots' | 'stop'>,
  requestIndex: number,
  item: BatchItem | undefined,
  isSuccessor: boolean,
): Outcome {
  if (item !== undefined && item.status !== 'waiting')
    return { status: item.status, error: item.error, processedAt: item.processedAt };
  if (isStarted(batch, requestIndex, item, isSuccessor))
    return { status: 'processing', error: null, processedAt: null };
  return batch.stop === null
    ? { status: 'pending', error: null, processedAt: null }
    : outcomeOfStop(batch.stop);
}

/** The outcome of a request that a stopped batch does not start or retry. */
export const outcomeOfStop = ({ reason, at }: NonNullable<Batch['stop']>) =>
  ({ status: 'failed', error: stopErrors[reason], processedAt: at }) as const satisfies Outcome;

/**
 * A batch as clients see it (specification, section 2.9).
 * @param batch the batch with the counts for the client
 */
export function batchResource(batch: Batch): BatchResource {
  return {
    id: batch.id,
    status: batch.status,
    agent_id: batch.agentId,
    total_requests: batch.total,
    completed_requests: batch.completed,
    failed_requests: batch.failed,
    metadata: batch.metadata ?? {},
    created_at: batch.createdAt,
    completed_at: batch.completedAt,
    cancelled_at: batch.cancelledAt,
    expires_at: batch.expiresAt,
  };
}

/** The webhook delivery that the end of a batch starts; null if the webhook is not called for this end, or missing. */
export function deliveryOf(ended: Batch): WebhookDelivery | null {
  const { status } = ended;
  if (status === 'in_progress' || status === 'cancelling' || !wantsWebhook(ended)) return null;
  const endedAt = ended.completedAt ?? ended.cancelledAt;
  if (endedAt === null) throw new Error(`The batch ${ended.id} has ended without a time`);
  const { id, total_requests, completed_requests, failed_requests, metadata } = batchResource(ended);
  const payload: WebhookPayload = {
    event: `batch.${status}`,
    timestamp: endedAt,
    data: { id, status, total_requests, completed_requests, failed_requests, metadata },
  };
  return {
    workspaceId: ended.workspaceId,
    batchId: id,
    body: JSON.stringify(payload),
    state: 'pending',
    round: 1,
    attempts: 0,
    allAttempts: 0,
    nextAt: endedAt,
  };
}
