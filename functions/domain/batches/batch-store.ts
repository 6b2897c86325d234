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
   * Stores the requests before the batch, so that no reader sees a batch without requests.
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
  /** Leaves out requests that are stored no more: they are removed some time after their batch has expired. */
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
  /** Does nothing if the execution with this execution number was started before. */
  start(batch: Batch): Promise<void>;
  stateOf(batch: Batch): Promise<'none' | 'running' | 'ended'>;
  completeTaskCallback(taskToken: string): Promise<boolean>;
}

export type OpenBatchEntry = DeliveryOwner;

export interface WebhookEntry extends DeliveryOwner {
  due: string;
}

/** The batch or the delivery of a listed entry may have ended. */
export interface ReconciliationIndex {
  openBatches(): Promise<OpenBatchEntry[]>;
  removeOpenBatch(entry: OpenBatchEntry): Promise<void>;
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
