import type { Chat, NewChat } from '#domain/chats/chat.ts';
import type { WebhookDelivery } from '#domain/webhooks/services.ts';
import type { Batch, BatchItem, BatchRequest, OwnedSlot, StopReason } from './batch.ts';

export type BatchKey = Pick<Batch, 'workspaceId' | 'id'>;

/** The first item of a request, and the chat that is created with it; null if it has one, or gets none. */
export interface Claim {
  request: BatchRequest;
  item: BatchItem;
  newChat: NewChat | null;
}

/** What identifies the item that a write replaces. */
type ItemVersion = Pick<BatchItem, 'attempt' | 'status'>;

/**
 * Every write that changes a batch or one of its items after its creation. Each is one conditional write, or one
 * transaction where it says so, so a crash leaves either nothing or all of it. A write that the SDK repeats after a lost
 * response counts as done.
 *
 * Batch: `in_progress` → `cancelling`, or expired while it still says `in_progress` → `completed`, `cancelled` or
 * `failed`.
 * An expired batch ends as `completed`, unless it was cancelled while it still said `in_progress`.
 * Slot: message under way → owned by a worker → message under way, or gone.
 * Item: absent → `processing` ⇄ `waiting` → `success` or `failed`.
 *
 * A transition that returns a batch returns it as it is after the write, and undefined if its condition did not hold.
 */
export interface BatchTransitions {
  /**
   * Makes slots, or renews silent ones, for the caller to send their messages.
   * Writers: dispatch-batch, the reconciler, and advance-batch after a close. Condition: nothing of it has changed since
   * the batch was read. After a crash: the slots are silent after `until`.
   */
  topUp(batch: Batch, slots: readonly number[], until: number): Promise<Batch | undefined>;
  /**
   * Makes the caller the owner of a slot.
   * Writer: a worker with a message. Condition: the slot has the epoch of the message; a final batch has no slots. After a
   * crash, here and for the next two: the slot is silent after `until`, and its next owner finds what it has started.
   * @param owner random name, by which a repeated write is known
   */
  acquire(
    batch: BatchKey,
    offered: OwnedSlot,
    owner: { name: string; until: number },
  ): Promise<{ batch: Batch; slot: OwnedSlot; wasClean: boolean } | undefined>;
  /**
   * Starts new requests from `next` on, and others by name.
   * Writer: the owner. Condition: the batch is not stopped, and its last take has the number that the caller knows.
   */
  take(
    batch: BatchKey,
    slot: OwnedSlot & { takes: number },
    start: { size: number; named: Readonly<Record<number, number>> },
  ): Promise<Batch | undefined>;
  /** Writer: the owner. Condition: it still is. */
  renew(batch: BatchKey, slot: OwnedSlot, until: number): Promise<Batch | undefined>;
  /**
   * Offers the slot to another worker, to which the caller sends its message.
   * Writer: the owner. Condition: it still is. After a crash before the message is sent: the slot is silent.
   */
  pass(
    batch: BatchKey,
    slot: OwnedSlot,
    offer: { until: number; isClean: boolean },
  ): Promise<Batch | undefined>;
  /** Removes a slot. Writer: the owner. Condition: it still is. */
  retire(batch: BatchKey, slot: OwnedSlot): Promise<Batch | undefined>;
  /**
   * Stops the batch: no request is started any more.
   * - `cancelled` makes it `cancelling`, and keeps the reason of an earlier stop. Writer: cancel-batch.
   * - `expired` and `failed` leave its status. Writers: advance-batch; fail-batch and a worker of a disabled workspace.
   *
   * Condition: the batch says `in_progress`, and unless it is cancelled, is not stopped. After a crash: the reconciler
   * completes the task callback.
   */
  stop(batch: BatchKey, stop: { reason: StopReason; at: string }): Promise<Batch | undefined>;
  /**
   * Ends the batch with exact counts, and starts the delivery of its webhook, in one transaction.
   * Writers: advance-batch and fail-batch. Condition: the status is as it was read.
   * After a crash before the write: the workflow retries the function.
   */
  complete(
    batch: Batch,
    final: Pick<Batch, 'status' | 'completed' | 'failed' | 'completedAt' | 'cancelledAt'>,
    delivery: WebhookDelivery | null,
  ): Promise<boolean>;
  /**
   * Numbers the next execution of the workflow.
   * Writers: the reconciler and resend-webhook. Condition: no other caller has numbered one since the batch was read.
   * After a crash: the reconciler starts the execution.
   */
  incrementExecutionNumber(batch: Batch): Promise<Batch | undefined>;
  /**
   * Stores the token by which workers complete the callback of the workflow's task.
   * Writer: dispatch-batch. Condition: the token is not older than the stored one, because a call of dispatch-batch may
   * be delayed until the workflow waits with another token.
   * @param enteredAt when the workflow has entered the state of the token, ISO 8601
   */
  saveTaskToken(batch: BatchKey, taskToken: string, enteredAt: string): Promise<void>;

  /**
   * Stores the first items of requests, with the chats that they need, in as few transactions as hold them.
   * Writer: the owner of the slot that has started them. Condition: they have no item.
   * @returns those that were stored
   */
  claim(
    batch: Batch,
    claims: readonly Claim[],
    chatLease: { idOf: (requestIndex: number) => string; until: number },
  ): Promise<{ request: BatchRequest; item: BatchItem; newChat: Chat | null }[]>;
  /**
   * Replaces an item.
   * Writers: the owner of the slot, and for an abandoned item of a stopped batch advance-batch and fail-batch.
   * Condition: the item is as it was read; undefined if there was none.
   * @returns false if the condition did not hold
   */
  replaceItem(batch: BatchKey, before: ItemVersion | undefined, item: BatchItem): Promise<boolean>;
}
