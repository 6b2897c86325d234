import type { BatchStatus } from '#contract/batch-statuses.ts';
import type { ListPage, PageEnds } from '#contract/pagination.ts';
import type { ResponseFormat } from '#contract/response-format.ts';
import type { ChatServices } from '#domain/chats/services.ts';
import type { DeliveryOwner, WebhookServices } from '#domain/webhooks/services.ts';
import type { Webhook } from '#domain/webhooks/webhook.ts';
import type { Person } from '#domain/workspaces/workspace.ts';
import type { Batch, BatchItem, BatchRequest, ManifestEntry } from './batch.ts';
import type { BatchKey, BatchTransitions } from './batch-transitions.ts';

export interface RequestsOfUser {
  batchId: string;
  /** The time of creation of the batch, ISO 8601. */
  createdAt: string;
  requestIndexes: number[];
}

/** Erases stored requests. A store of its own, because few functions need it. */
export interface RequestEraser {
  /** Erases the message and the name of a request, and its user. It may be repeated. */
  erase(batch: Pick<Batch, 'workspaceId' | 'id'>, requestIndex: number): Promise<void>;
  /** Yields the requests of a user, in pages, in the order in which their batches were created. */
  ofUser(user: Person): AsyncIterable<RequestsOfUser[]>;
  /**
   * Removes the entry by which `ofUser` finds a batch. The caller has erased the user's requests in the batch before.
   */
  forget(batch: Pick<Batch, 'workspaceId' | 'id' | 'createdAt'>, user: Person): Promise<void>;
}

export interface BatchStore extends BatchTransitions {
  /**
   * Stores all requests, then the batch, so that no reader sees an incomplete batch. A repeated call with the same id
   * stores no second batch.
   * @param mostOpen maximum of open batches of the workspace, this one included; null without a limit
   * @param format the response format of all requests
   * @returns `exists` if there is a batch with this id; `too-many` if the workspace has `mostOpen` open batches. In
   *   both cases no batch is stored
   */
  create(
    batch: Batch,
    requests: readonly BatchRequest[],
    webhook: Webhook | null,
    mostOpen: number | null,
    format?: ResponseFormat | undefined,
  ): Promise<'created' | 'exists' | 'too-many'>;
  /** The response format of all requests; undefined if the batch has none. */
  format(batch: Batch): Promise<ResponseFormat | undefined>;
  countOpen(workspaceId: string): Promise<number>;
  get(workspaceId: string, batchId: string): Promise<Batch | undefined>;
  /**
   * One page, newest first, and the number of all matching batches.
   * @returns `ends`: where the page starts and ends in the list, for links to other pages; undefined if the filter is
   *   for an open status. Then `offset` alone determines the page
   */
  page(
    workspaceId: string,
    filter: { status?: BatchStatus | undefined },
    page: Omit<ListPage, 'ascending'>,
  ): Promise<{ total: number; batches: Batch[]; ends: PageEnds | undefined }>;
  manifest(batch: Batch): Promise<ManifestEntry[]>;
  /** The stored requests. Requests are removed some time after their batch has expired: the result leaves these out. */
  requests(batch: Batch, requestIndexes: readonly number[]): Promise<BatchRequest[]>;
  item(batch: BatchKey, requestIndex: number): Promise<BatchItem | undefined>;
  /** The items of all requests that have one, in any order. The read is strongly consistent. */
  allItems(batch: Batch): Promise<BatchItem[]>;
  /** The newest token of the workflow's task; undefined if none is stored. */
  taskToken(batch: BatchKey): Promise<string | undefined>;
  webhook(batch: BatchKey): Promise<Webhook | undefined>;
  /**
   * The workspace of a batch with a webhook; undefined for any other id. For operators, because they name a batch by
   * its id alone.
   */
  workspaceOf(batchId: string): Promise<string | undefined>;
}

/** Offers a slot of a batch to a worker. If the slot has another epoch, the message is ignored. */
export interface SlotMessage {
  workspaceId: string;
  batchId: string;
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
  /** Starts the execution with the batch's execution number; does nothing if it was started before. */
  start(batch: Batch): Promise<void>;
  /** The state of the execution with the batch's execution number; `none` if it was never started. */
  stateOf(batch: Batch): Promise<'none' | 'running' | 'ended'>;
  /** Ends the wait of the workflow. Returns false if no task waits with this token. */
  completeTaskCallback(taskToken: string): Promise<boolean>;
}

/** Names a batch that was open when its entry was written. */
export type OpenBatchEntry = DeliveryOwner;

/** Names a webhook delivery that the reconciler checks when `due` (ISO 8601) has passed. */
export interface WebhookEntry extends DeliveryOwner {
  due: string;
}

/**
 * The index entries that the reconciler checks, of all workspaces. The transaction that creates a batch or a webhook
 * delivery also writes its entry. An entry may still exist after the end of its batch or delivery.
 */
export interface ReconciliationIndex {
  openBatches(): Promise<OpenBatchEntry[]>;
  removeOpenBatch(entry: OpenBatchEntry): Promise<void>;
  /** The ids of the workspaces that have webhook entries. Each costs one read. */
  workspacesWithWebhooks(): AsyncIterable<string>;
  /** The webhook entries of one workspace that are due before a time (ISO 8601), in the order of their due times. */
  webhooksDue(workspaceId: string, until: string): AsyncIterable<WebhookEntry>;
  /** Replaces the due time of an entry (ISO 8601). */
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
  /** From creation to expiry. Requests that were not started before the expiry fail. */
  timeout: number;
  /** The longest time that the reply of one attempt of a request may take. */
  item: number;
}

interface QueueSettings {
  /**
   * The number of slots, and so of workers, that the batches of one workspace may have together. If there are more open
   * batches, each may have one slot.
   */
  workspaceSlots: number;
  /** Maximum of requests that one worker processes at once. */
  requestsPerWorker: number;
}

/** The named services: those that a use case needs. */
export type Services<Name extends keyof BatchServices> = Pick<BatchServices, Name>;
