import type { BatchStatus } from '#contract/batch-statuses.ts';
import type { Chat } from '#domain/chats/chat.ts';
import type { NewChat } from '#domain/chats/chat-store.ts';
import type { WebhookDelivery } from '#domain/webhooks/webhook-delivery.ts';
import type { Batch, BatchItem, BatchRequest, ManifestEntry, StopReason } from './batch.ts';

/** What a worker wants to begin. */
export interface Claim {
  request: BatchRequest;
  /** As it was read; undefined when it was never begun. */
  item: BatchItem | undefined;
  /** The chat to make for it; null when it has one. */
  newChat: NewChat | null;
}

export interface ClaimedItem {
  request: BatchRequest;
  item: BatchItem;
  /** The chat that was made with the claim. */
  newChat: Chat | null;
}

export interface CountChange {
  completed: number;
  failed: number;
  /** Fewer when negative. */
  slots: number;
}

export interface BatchStore {
  /**
   * Stores all requests, then the batch: half of one is never seen. Done again with the same id it changes nothing.
   * False when a batch of this id is there already.
   * @param admit is told how many others of the workspace are open, and throws when another one is too many; null for any
   */
  create(
    batch: Batch,
    requests: readonly BatchRequest[],
    checkLimit: ((open: number) => void) | null,
  ): Promise<boolean>;
  countOpen(workspaceId: string): Promise<number>;
  get(workspaceId: string, batchId: string): Promise<Batch | undefined>;
  /** One page, newest first, and how many there are in all. */
  page(
    workspaceId: string,
    filter: { status?: BatchStatus | undefined },
    page: { limit: number; offset: number },
  ): Promise<{ total: number; batches: Batch[] }>;
  manifest(batch: Batch): Promise<ManifestEntry[]>;
  /** Requests at some positions; those whose texts are gone with time are left out. */
  requests(batch: Batch, positions: readonly number[]): Promise<BatchRequest[]>;
  items(batch: Batch, positions: readonly number[]): Promise<(BatchItem | undefined)[]>;
  /** All items that were begun, in no order, strongly consistent. */
  allItems(batch: Batch): Promise<BatchItem[]>;
  /**
   * Takes requests under a lease, each with a chat of its own where it needs one: unless the batch is stopped or has
   * expired, or someone else has taken the request meanwhile.
   * @returns those that were taken
   */
  claim(
    batch: Batch,
    claims: readonly Claim[],
    lease: { milliseconds: number; chat: { idOf: (position: number) => string; milliseconds: number } },
  ): Promise<ClaimedItem[]>;
  /** False when the claim has been lost. */
  renew(batch: Batch, item: BatchItem, until: number): Promise<boolean>;
  /** Ends a claim: the item as it shall be, if the claim still stands. False when it has been lost. */
  save(batch: Batch, item: BatchItem): Promise<boolean>;
  /** Ends an item whose lease ran out before a time (milliseconds). False when it was taken over or has ended. */
  failAbandonedItem(batch: Batch, item: BatchItem, before: number): Promise<boolean>;
  /** Adds to the counters of an open batch. @returns the batch as it then is; undefined when it has ended */
  count(batch: Batch, change: CountChange): Promise<Batch | undefined>;
  /**
   * The same, if then so many further groups can be sent without more places than the batch may have.
   * @returns the batch as it then is, the last of its groups sent being the caller's to send; undefined when not
   */
  enqueueNext(
    batch: Batch,
    change: CountChange,
    next: { groups: number; slotLimit: number; at: string },
  ): Promise<Batch | undefined>;
  /**
   * From then on no request can be begun. A cancel makes the batch `cancelling`, also one that was stopped before: it then
   * keeps the reason and time of the first stop. Undefined when the batch was closed or cancelled already, and for any
   * other stop also when it was stopped.
   */
  stop(batch: Batch, stop: { reason: StopReason; at: string }): Promise<Batch | undefined>;
  /** Of an open batch. Undefined when it has ended. */
  saveToken(batch: Batch, taskToken: string): Promise<Batch | undefined>;
  /** Undefined when someone else did since the batch was read. */
  incrementExecutionNumber(batch: Batch): Promise<Batch | undefined>;
  /** Takes so many groups to be sent first, each with a place, unless that was done before. */
  start(batch: Batch, groups: number): Promise<Batch>;
  saveDispatch(batch: Batch, at: string): Promise<void>;
  /** Requests are sent once more. Undefined when others have sent some of this batch since it was read. */
  requeueLost(
    batch: Batch,
    sent: { at: string } & Pick<Batch, 'groupsSent' | 'slots'>,
  ): Promise<Batch | undefined>;
  /** Notes that lost requests are requeued, by messages that take so many more places. Undefined when the batch has ended. */
  noteRequeue(batch: Batch, requeue: { at: string; slots: number }): Promise<Batch | undefined>;
  /** The final state, with exact counts, and the delivery that it begins. False when it was closed already. */
  close(
    batch: Batch,
    final: Pick<Batch, 'status' | 'completed' | 'failed' | 'completedAt' | 'cancelledAt'>,
    delivery: WebhookDelivery | null,
  ): Promise<boolean>;
  /** For operators, who know a batch by its id alone: of batches with a webhook. */
  workspaceOf(batchId: string): Promise<string | undefined>;
}
