import type { BatchResource, WebhookPayload } from '#contract/batch.ts';
import type { BatchResultStatus, BatchStatus, WebhookEvent } from '#contract/batch-statuses.ts';
import type { Metadata } from '#contract/metadata.ts';
import { batchLeasePrefix } from '#domain/chats/chat.ts';
import type { Incomplete } from '#domain/chats/message.ts';
import type { CountedCall } from '#domain/platform/services.ts';
import type { WebhookDelivery } from '#domain/webhooks/webhook.ts';

export type StopReason = 'cancelled' | 'expired' | 'failed';

export interface Batch {
  id: string;
  workspaceId: string;
  agentId: string;
  metadata?: Metadata | undefined;
  apiKeyId: string;
  status: BatchStatus;
  total: number;
  /** Stored at the end of the batch. Until then, it and `failed` are 0, unless `countBatch` has computed them. */
  completed: number;
  failed: number;
  createdAt: string;
  expiresAt: string;
  completedAt: string | null;
  cancelledAt: string | null;
  /** If it is set, requests that would be `pending` have failed: see `outcomeOf`. */
  stop: { reason: StopReason; at: string } | null;
  webhookEvents: readonly WebhookEvent[];
  /** The format is a separate item: in the item of the batch, each update would pay for its bytes. */
  hasFormat?: true;
  executionNumber: number;
  /** Requests below it have started, except perhaps those of `successorsIn`. It may be larger than `total`. */
  next: number;
  slotsMade: number;
  slots: Readonly<Record<number, Slot>>;
}

/** A numbered right to work for a batch. A message of the queue only offers it to a worker. */
export interface Slot {
  /** Rises with each owner. No two owners of slots of a batch have the same, so an item identifies its worker by it. */
  epoch: number;
  owner: string | null;
  takes: number;
  /** Epoch milliseconds. After it, the slot is silent: its worker or its message may be lost. */
  until: number;
  /** True only if former owners have left nothing except new requests. */
  isClean: boolean;
  /** The last take covers `size` indexes from this one on. They may reach beyond the `total` of the batch. */
  first: number;
  size: number;
  /** The attempts of the retries and successors that the last take has started, by the index of the request. */
  named: Readonly<Record<number, number>>;
}

export interface OwnedSlot {
  number: number;
  epoch: number;
}

/** Milliseconds by which the clocks of two functions may differ. */
const clockDifference = 2000;

export const isAlive = (slot: Slot | undefined, now: number): slot is Slot =>
  slot !== undefined && slot.owner !== null && slot.until + clockDifference >= now;

/** Number of `BatchRequest`s in an item. Ten texts of 1 KB cost about 11 write units in one item, and 20 in ten. */
export const requestsPerGroup = 10;

/** The same id for all attempts of a request, so that a new attempt can prolong the lease of the last one. */
export const chatLeaseOf = (batch: Pick<Batch, 'id'>, requestIndex: number): string =>
  `${batchLeasePrefix}${batch.id}:${requestIndex}`;

export const isOpen = ({ status }: Pick<Batch, 'status'>): boolean =>
  status === 'in_progress' || status === 'cancelling';

export const wantsWebhook = (batch: Pick<Batch, 'status' | 'webhookEvents'> | undefined): boolean =>
  batch?.webhookEvents.some((event) => event === batch.status) ?? false;

export const leftOf = ({ total, next }: Pick<Batch, 'total' | 'next'>): number => Math.max(total - next, 0);

/** `requestIndex` counts from 0, in input order. */
export interface BatchRequest {
  requestIndex: number;
  customId: string;
  message: string;
  agentId: string;
  externalUserId: string | null;
  name: string;
  attachedFileUuids: string[];
  historyId: number | null;
  /** Index of the request that starts after this one in the same chat (`history_id`). */
  next: number | null;
  previous: number | null;
}

export type ManifestEntry = Pick<BatchRequest, 'customId' | 'historyId' | 'next'>;

export const successorsIn = (manifest: readonly ManifestEntry[]): Set<number> =>
  new Set(manifest.flatMap(({ next }) => next ?? []));

/** The state of a request. A request without an item may have been started: see `isStarted`. */
export interface BatchItem {
  requestIndex: number;
  status: 'processing' | 'waiting' | 'success' | 'failed';
  /** The slot that has started the request. 0, like `epoch` and `attempt`, if no worker has claimed it. */
  slot: number;
  epoch: number;
  /** Rises with each `takeOver`. A retry after one of `waitsAtOnce` has the same number. */
  attempt: number;
  /** Number of `broken` ends (see `AttemptEnd`), without those that a lost worker has not stored. */
  brokenReplies: number;
  /** Number of takeovers at which the status was `processing`. */
  lostAttempts: number;
  /** Epoch milliseconds of the next attempt, at the earliest; null unless `waiting`. */
  due: number | null;
  /** Null until a chat is created for the request or, with a `historyId`, until its turn is open. */
  chatId: number | null;
  messagePosition: number | null;
  /** With a code of a result (specification, section 7.4). */
  error: { code: number; message: string } | null;
  incomplete: Incomplete | null;
  /** The model calls of a successful reply, or one call with their sums; otherwise empty. */
  calls: CountedCall[];
  processedAt: string | null;
}

/** No worker has claimed the request. */
export const unclaimedItem = (requestIndex: number): Omit<BatchItem, 'status'> => ({
  ...{ requestIndex, slot: 0, epoch: 0, attempt: 0, brokenReplies: 0, lostAttempts: 0, due: null },
  ...{ chatId: null, messagePosition: null, error: null, incomplete: null, calls: [], processedAt: null },
});

/** The codes are those of the specification, section 7.4; the texts are our own. */
const stopErrors: Readonly<Record<StopReason, { code: number; message: string }>> = {
  cancelled: { code: 499, message: 'The batch was cancelled' },
  expired: { code: 408, message: 'The batch timed out before the request was processed' },
  failed: { code: 500, message: 'The batch could not be carried through' },
};

export interface Outcome extends Pick<BatchItem, 'error' | 'processedAt'> {
  status: BatchResultStatus;
}

export interface StoredRequest {
  requestIndex: number;
  entry: ManifestEntry;
  item: BatchItem | undefined;
  isSuccessor: boolean;
}

/** Whether a take has started the request or, if it waits, its next attempt. Takes are stored before items. */
export function isStarted(
  { next, slots }: Pick<Batch, 'next' | 'slots'>,
  { requestIndex, item, isSuccessor }: StoredRequest,
): boolean {
  if (item !== undefined && item.status !== 'waiting') return true;
  const attempt = item?.attempt ?? 0;
  if (Object.values(slots).some(({ named }) => (named[requestIndex] ?? 0) > attempt)) return true;
  return item === undefined && requestIndex < next && !isSuccessor;
}

/** @param batch read before the item. Otherwise, a request that has run in between could count as failed */
export function outcomeOf(batch: Pick<Batch, 'next' | 'slots' | 'stop'>, request: StoredRequest): Outcome {
  const { item } = request;
  if (item !== undefined && item.status !== 'waiting')
    return { status: item.status, error: item.error, processedAt: item.processedAt };
  if (isStarted(batch, request)) return { status: 'processing', error: null, processedAt: null };
  return batch.stop === null
    ? { status: 'pending', error: null, processedAt: null }
    : outcomeOfStop(batch.stop);
}

export const outcomeOfStop = ({ reason, at }: NonNullable<Batch['stop']>) =>
  ({ status: 'failed', error: stopErrors[reason], processedAt: at }) as const satisfies Outcome;

/** @param batch with the counts for the client */
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
