import type { BatchStatus } from '#contract/batch-statuses.ts';
import type { ListPage, PageEnds } from '#contract/pagination.ts';
import type { ResponseFormat } from '#contract/response-format.ts';
import type { Chat, NewChat } from '#domain/chats/chat.ts';
import type { ChatServices } from '#domain/chats/services.ts';
import type { DeliveryOwner, Webhook, WebhookDelivery, WebhookServices } from '#domain/webhooks/webhook.ts';
import type { Person } from '#domain/workspaces/workspace.ts';
import type { Batch, BatchItem, BatchRequest, ManifestEntry, OwnedSlot, StopReason } from './batch.ts';

export type BatchKey = Pick<Batch, 'workspaceId' | 'id'>;

export interface Claim {
  request: BatchRequest;
  item: BatchItem;
  newChat: NewChat | null;
}

type ItemVersion = Pick<BatchItem, 'attempt' | 'status'>;

/**
 * The writes that change a batch or one of its items after the creation. Each is one conditional write or one
 * transaction; only `claim` may make several transactions.
 *
 * Batch: `in_progress` → `completed` or `failed`; after a cancel `in_progress` → `cancelling` → `cancelled`. A batch
 * stopped as `expired` keeps `in_progress`, and ends as `completed` unless a client cancels it before.
 *
 * Slot: message under way ⇄ owned by a worker; then removed.
 *
 * Item: absent → `processing` ⇄ `waiting`; `processing` → `success` or `failed`. In a stopped batch also absent or
 * `waiting` → `failed`.
 *
 * A transition that returns a batch returns it after the write, or undefined if the condition did not hold.
 */
export interface BatchTransitions {
  /**
   * Makes slots, or renews existing ones and takes them from their owners. The caller then sends their messages.
   * Writers: dispatch-batch, the reconciler and advance-batch. Condition: since the batch was read, no slot was made,
   * and the slots to renew have kept their time. After a crash: the slots are silent after `until`.
   */
  topUp(batch: Batch, slots: readonly number[], until: number): Promise<Batch | undefined>;
  /**
   * Makes the caller the owner of a slot. Writer: a worker with a message. Condition: the slot has the epoch of the
   * message. After a crash, here or after `take` or `renew`: the slot is silent after `until`.
   * @param owner.name unique to the call: a repeated write is recognized by it
   */
  acquire(
    batch: BatchKey,
    offered: OwnedSlot,
    owner: { name: string; until: number },
  ): Promise<{ batch: Batch; slot: OwnedSlot; wasClean: boolean } | undefined>;
  /**
   * Starts requests: those of the `size` indexes from the batch's `next` on, except successors in chains, and those in
   * `named`, which maps the index of a request to the number of the attempt that starts. Writer: the owner. Condition:
   * it still owns the slot and has made exactly `takes` takes, and the batch is not stopped.
   */
  take(
    batch: BatchKey,
    slot: OwnedSlot & { takes: number },
    start: { size: number; named: Readonly<Record<number, number>> },
  ): Promise<Batch | undefined>;
  /** Writer: the owner. Condition: it still owns the slot. */
  renew(batch: BatchKey, slot: OwnedSlot, until: number): Promise<Batch | undefined>;
  /**
   * Offers the slot to another worker. The caller then sends the message. Writer: the owner. Condition: it still owns
   * the slot. After a crash: the slot is silent after `until`.
   */
  pass(
    batch: BatchKey,
    slot: OwnedSlot,
    offer: { until: number; isClean: boolean },
  ): Promise<Batch | undefined>;
  /**
   * Removes a slot. Writers: the owner; advance-batch for a slot without a living worker; fail-batch for any slot.
   * Condition: the slot has this epoch, and, if `until` is given, this time: a worker that has renewed it is not lost.
   * For a slot that is removed already, returns the batch too.
   */
  retire(batch: BatchKey, slot: OwnedSlot & { until?: number }): Promise<Batch | undefined>;
  /**
   * Stops the batch: no further request is started.
   * - `cancelled` changes the status to `cancelling`, and keeps the reason of an earlier stop. Writer: cancel-batch.
   * - `expired` keeps the status. Writer: advance-batch.
   * - `failed` keeps the status. Writers: fail-batch, and a worker of a disabled or deleted workspace.
   *
   * Condition: the status is `in_progress`. For `expired` and `failed`, the batch is also not stopped yet. After a
   * crash: the reconciler completes the task callback.
   */
  stop(batch: BatchKey, stop: { reason: StopReason; at: string }): Promise<Batch | undefined>;
  /**
   * Ends the batch, removes its slots and stores its delivery, in one transaction. Writers: advance-batch and
   * fail-batch. Condition: the status is as it was read. Returns false if it is not.
   */
  complete(
    batch: Batch,
    final: Pick<Batch, 'status' | 'completed' | 'failed' | 'completedAt' | 'cancelledAt'>,
    delivery: WebhookDelivery | null,
  ): Promise<boolean>;
  /**
   * Writers: the reconciler, resendWebhook, and a worker that has removed its slot. The caller then starts the
   * execution. Condition: the number is as it was read. After a crash: the reconciler starts the execution.
   */
  incrementExecutionNumber(batch: Batch): Promise<Batch | undefined>;
  /**
   * Writer: dispatch-batch. Condition: the token is not older than the stored one, because a call of dispatch-batch may
   * be delayed until the workflow waits with another token.
   * @param enteredAt the time when the workflow entered the state that waits with the token, ISO 8601
   */
  saveTaskToken(batch: BatchKey, taskToken: string, enteredAt: string): Promise<void>;

  /**
   * Writer: the owner of the slot. Condition, for each request alone: it has no item. Returns the items that were
   * stored.
   */
  claim(
    batch: Batch,
    claims: readonly Claim[],
    chatLease: { idOf: (requestIndex: number) => string; until: number },
  ): Promise<{ request: BatchRequest; item: BatchItem; newChat: Chat | null }[]>;
  /**
   * Writers: the owner of the slot; in a stopped batch also advance-batch and fail-batch. Condition: the item still has
   * the attempt and the status of `before`; if that is undefined, there is no item. Returns whether the item, or one
   * with its epoch and status, is stored.
   */
  replaceItem(batch: BatchKey, before: ItemVersion | undefined, item: BatchItem): Promise<boolean>;
}

export interface RequestsOfUser {
  batchId: string;
  createdAt: string;
  requestIndexes: number[];
}

export interface RequestEraser {
  /** Erases the message, the name and the user. It may be repeated. */
  erase(batch: Pick<Batch, 'workspaceId' | 'id'>, requestIndex: number): Promise<void>;
  ofUser(user: Person): AsyncIterable<RequestsOfUser[]>;
  /** Removes a batch from `ofUser`. Call it after the requests of the user in this batch were erased. */
  forget(batch: Pick<Batch, 'workspaceId' | 'id' | 'createdAt'>, user: Person): Promise<void>;
}

export interface BatchStore extends BatchTransitions {
  /**
   * Stores the requests before the batch, so that no reader sees a new batch without its requests.
   * @param mostOpen maximum of open batches of the workspace, this one included; null without a limit
   */
  create(
    batch: Batch,
    requests: readonly BatchRequest[],
    webhook: Webhook | null,
    mostOpen: number | null,
    format?: ResponseFormat | undefined,
  ): Promise<'created' | 'exists' | 'too-many'>;
  format(batch: Batch): Promise<ResponseFormat | undefined>;
  countOpen(workspaceId: string): Promise<number>;
  get(workspaceId: string, batchId: string): Promise<Batch | undefined>;
  /** Newest first. If the filter is for an open status, `ends` is undefined, and the cursor of `page` is ignored. */
  page(
    workspaceId: string,
    filter: { status?: BatchStatus | undefined },
    page: Omit<ListPage, 'ascending'>,
  ): Promise<{ total: number; batches: Batch[]; ends: PageEnds | undefined }>;
  manifest(batch: Batch): Promise<ManifestEntry[]>;
  /** Leaves out requests that are stored no more: they are removed some time after the batch's `expiresAt`. */
  requests(batch: Batch, requestIndexes: readonly number[]): Promise<BatchRequest[]>;
  item(batch: BatchKey, requestIndex: number): Promise<BatchItem | undefined>;
  /** In any order. The read is strongly consistent. */
  allItems(batch: Batch): Promise<BatchItem[]>;
  taskToken(batch: BatchKey): Promise<string | undefined>;
  webhook(batch: BatchKey): Promise<Webhook | undefined>;
  /** Finds only batches with a webhook. For operators, because they name a batch by its id alone. */
  workspaceOf(batchId: string): Promise<string | undefined>;
}

/** Offers a slot of a batch to a worker. If the slot has another epoch, the message is ignored. */
export interface SlotMessage extends DeliveryOwner {
  slot: number;
  epoch: number;
}

export interface BatchQueue {
  /** @param delay seconds, at most 900 */
  send(messages: readonly SlotMessage[], delay?: number): Promise<void>;
  /** Whether messages wait for a worker. The queue knows it only approximately. */
  isFilled(): Promise<boolean>;
}

export interface BatchWorkflow {
  /** Does nothing if the execution with this execution number was started before. */
  start(batch: Batch): Promise<void>;
  stateOf(batch: Batch): Promise<'none' | 'running' | 'ended'>;
  completeTaskCallback(taskToken: string): Promise<boolean>;
}

export interface WebhookEntry extends DeliveryOwner {
  due: string;
}

/** The batch or the delivery of a listed entry may have ended. */
export interface ReconciliationIndex {
  openBatches(): Promise<DeliveryOwner[]>;
  removeOpenBatch(entry: DeliveryOwner): Promise<void>;
  /** The workspaces that have webhook entries. Each costs one read. */
  workspacesWithWebhooks(): AsyncIterable<string>;
  webhooksDue(workspaceId: string, until: string): AsyncIterable<WebhookEntry>;
  moveWebhook(entry: WebhookEntry, due: string): Promise<void>;
  removeWebhook(entry: WebhookEntry): Promise<void>;
}

export interface BatchServices extends ChatServices, WebhookServices {
  batchQueue: BatchQueue;
  batchSettings: BatchSettings;
  batchWorkflow: BatchWorkflow;
  batches: BatchStore;
  queueSettings: QueueSettings;
  reconciliationIndex: ReconciliationIndex;
  requestEraser: RequestEraser;
}

/** Times in milliseconds. */
interface BatchSettings {
  timeout: number;
  /** The longest time that the reply of one attempt may take. */
  item: number;
}

interface QueueSettings {
  /** Of all batches of a workspace together. If there are more open batches, each may have one slot. */
  workspaceSlots: number;
  requestsPerWorker: number;
}

export type Services<Name extends keyof BatchServices> = Pick<BatchServices, Name>;
