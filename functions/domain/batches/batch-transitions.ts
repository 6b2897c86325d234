import type { Chat } from '#domain/chats/chat.ts';
import type { NewChat } from '#domain/chats/chat-store.ts';
import type { WebhookDelivery } from '#domain/webhooks/webhook-delivery.ts';
import type { Batch, BatchItem, BatchRequest } from './batch.ts';

/** A request that a worker wants to process. */
export interface Claim {
  request: BatchRequest;
  /** The item as it was read; undefined if the request was never claimed. */
  item: BatchItem | undefined;
  /** The chat to create for the request; null if it has one. */
  newChat: NewChat | null;
}

export interface ClaimedItem {
  request: BatchRequest;
  item: BatchItem;
  /** The chat that was created with the claim. */
  newChat: Chat | null;
}

/** What a worker adds to the counters of a batch. */
export interface Outcomes {
  completed: number;
  failed: number;
  /** In-flight message slots; negative if the worker gives slots back. */
  slots: number;
}

/**
 * Every write that changes a batch or one of its items after its creation. Each is one conditional write or one
 * transaction, so a crash leaves either nothing or all of it.
 *
 * Batch: `in_progress` → `cancelling`, or expired while it still says `in_progress` → `completed`, `cancelled` or
 * `failed`.
 * An expired batch ends as `completed`, unless it was cancelled while it still said `in_progress`.
 * Item: absent → `processing` ⇄ `waiting` → `success` or `failed`.
 *
 * A transition that returns a batch returns it as it is after the write, and undefined if its condition did not hold.
 * One that returns a boolean returns false in that case.
 */
export interface BatchTransitions {
  /**
   * Takes the first request groups for the caller to send, each with a slot.
   * Writer: dispatch-batch. Condition: no group was taken before; otherwise the batch is returned as it is.
   * After a crash: the retry of dispatch-batch sends the groups.
   */
  enqueueFirst(batch: Batch, groups: number): Promise<Batch>;
  /**
   * Stores when the first groups were in the queue.
   * Writer: dispatch-batch. Condition: none; the first time stays.
   */
  markFirstEnqueued(batch: Batch, at: string): Promise<void>;
  /**
   * Stores the token by which workers complete the callback of the workflow's task.
   * Writer: dispatch-batch. Condition: the batch is open, and the token is not older than the stored one: a call of
   * dispatch-batch may be delayed until the workflow waits with another token.
   * After a crash: the retry of dispatch-batch has the same token.
   * @param enteredAt when the workflow has entered the state of the token, ISO 8601
   */
  saveTaskToken(batch: Batch, taskToken: string, enteredAt?: string): Promise<Batch | undefined>;
  /**
   * Records outcomes and takes further groups, for the caller to process or to send.
   * Writer: a worker. Condition: the batch is neither stopped nor ended, has so many groups left, and has at most
   * `slotLimit` slots afterwards. After a crash: the reconciler requeues the groups.
   */
  takeGroups(
    batch: Batch,
    outcomes: Outcomes,
    take: { groups: number; slotLimit: number; at: string },
  ): Promise<Batch | undefined>;
  /**
   * Adds to the counters.
   * Writer: a worker. Condition: the batch is open; an ended one has exact counts.
   * After a crash before the write: `complete` counts the items themselves.
   */
  recordOutcomes(batch: Batch, outcomes: Outcomes): Promise<Batch | undefined>;
  /**
   * Replaces the number of slots, and the number of groups that were enqueued, before requests are enqueued once more.
   * Writers: dispatch-batch and the reconciler. Condition: no other caller has enqueued requests since the batch was
   * read. After a crash: the reconciler requeues.
   */
  requeueAll(
    batch: Batch,
    sent: { at: string } & Pick<Batch, 'groupsSent' | 'slots'>,
  ): Promise<Batch | undefined>;
  /**
   * Records that lost requests are requeued. Their messages take further slots.
   * Writer: the reconciler. Condition: the batch is in progress. After a crash: the reconciler requeues them in
   * its next run.
   */
  requeueLost(batch: Batch, requeue: { at: string; slots: number }): Promise<Batch | undefined>;
  /**
   * Numbers the next execution of the workflow.
   * Writers: the reconciler and resend-webhook. Condition: no other caller has numbered one since the batch was read.
   * After a crash: the reconciler starts the execution.
   */
  incrementExecutionNumber(batch: Batch): Promise<Batch | undefined>;
  /**
   * Makes the batch `cancelling`; no request is claimed any more. A batch that has expired or failed keeps that reason.
   * Writer: cancel-batch. Condition: the batch says `in_progress`.
   * After a crash: the reconciler completes the task callback.
   */
  cancel(batch: Batch, at: string): Promise<Batch | undefined>;
  /**
   * No request is claimed any more; the status stays `in_progress`. Writer: advance-batch. Condition: the batch says
   * `in_progress` and is not stopped. After a crash: the retry of advance-batch does the rest.
   */
  markExpired(batch: Batch, at: string): Promise<Batch | undefined>;
  /**
   * No request is claimed any more; the status stays `in_progress`.
   * Writers: fail-batch, and a worker of a disabled workspace. Condition: as of `markExpired`.
   */
  markFailed(batch: Batch, at: string): Promise<Batch | undefined>;
  /**
   * Ends the batch with exact counts, and starts the delivery of its webhook.
   * Writers: advance-batch and fail-batch. Condition: status and stop are those that were read.
   * After a crash before the write: the workflow retries the function.
   */
  complete(
    batch: Batch,
    final: Pick<Batch, 'status' | 'completed' | 'failed' | 'completedAt' | 'cancelledAt'>,
    delivery: WebhookDelivery | null,
  ): Promise<boolean>;

  /**
   * Claims requests under batch item leases, and creates the chats that they need.
   * Writer: a worker. Condition: the batch accepts work (it is not stopped and has not expired), and each item is as it
   * was read. After a crash: the lease expires and the reconciler requeues the requests.
   * @param lease milliseconds of the item leases and of the chat leases; `worker` as in `BatchItem`
   * @returns the requests that were claimed: all, or those that no other worker has claimed
   */
  claimItems(
    batch: Batch,
    claims: readonly Claim[],
    lease: {
      milliseconds: number;
      worker: string | null;
      chat: { idOf: (requestIndex: number) => string; milliseconds: number };
    },
  ): Promise<ClaimedItem[]>;
  /** Writer: the worker that owns the item. Condition, here and for the three below: its claim is the newest one. */
  renewItemLease(batch: Batch, item: BatchItem, until: number): Promise<boolean>;
  /**
   * Stores the chat of the item and the position of its message, before the model is called.
   * After a crash: the next attempt finds a reply that was stored there.
   */
  assignChat(batch: Batch, item: BatchItem): Promise<boolean>;
  /**
   * Makes the item `waiting`: for a retry, or for another worker if this one has not started the request.
   * After a crash before its message is sent: the reconciler requeues it when it is overdue.
   * @param due milliseconds since the epoch
   */
  scheduleRetry(batch: Batch, item: BatchItem, due: number): Promise<boolean>;
  /**
   * Ends the item as `success` or `failed`.
   * After a crash before the write: the next attempt finds the stored reply. After the write: `complete`
   * counts the item, and the reconciler requeues the successor (the next request with the same `history_id`).
   */
  finishItem(batch: Batch, item: BatchItem): Promise<boolean>;
  /**
   * Ends an item that its worker has abandoned.
   * Writers: advance-batch and fail-batch. Condition: the claim is the newest one, and its lease expired before
   * `leaseBefore` (milliseconds since the epoch).
   */
  failAbandonedItem(batch: Batch, item: BatchItem, leaseBefore: number): Promise<boolean>;
}
