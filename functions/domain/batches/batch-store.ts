import type { BatchStatus } from '#contract/batch-statuses.ts';
import type { ListPage, PageEnds } from '#contract/pagination.ts';
import type { Webhook } from '#domain/webhooks/webhook.ts';
import type { Person } from '#domain/workspaces/person.ts';
import type { Batch, BatchItem, BatchRequest, ManifestEntry } from './batch.ts';
import type { BatchKey, BatchTransitions } from './batch-transitions.ts';

/** The requests of one user in a batch. */
export interface RequestsOfUser {
  batchId: string;
  /** Of the batch. */
  createdAt: string;
  requestIndexes: number[];
}

/** Erases stored requests. Only the functions that do so load it. */
export interface RequestEraser {
  /** Erases the texts of a request, and its user. It may be repeated. */
  erase(batch: Pick<Batch, 'workspaceId' | 'id'>, requestIndex: number): Promise<void>;
  /** The requests of a user, in pages, those of the oldest batch first. */
  ofUser(user: Person): AsyncIterable<RequestsOfUser[]>;
  /** Removes the entry of a batch of the user, whose requests are erased. */
  forget(batch: Pick<Batch, 'workspaceId' | 'id' | 'createdAt'>, user: Person): Promise<void>;
}

export interface BatchStore extends BatchTransitions {
  /**
   * Stores all requests, then the batch, so that no reader sees an incomplete batch. A repeated call with the same id
   * changes nothing.
   * @param mostOpen open batches that the workspace may have, with this one; null without a limit
   */
  create(
    batch: Batch,
    requests: readonly BatchRequest[],
    webhook: Webhook | null,
    mostOpen: number | null,
  ): Promise<'created' | 'exists' | 'too-many'>;
  countOpen(workspaceId: string): Promise<number>;
  get(workspaceId: string, batchId: string): Promise<Batch | undefined>;
  /** One page, newest first, and the number of all batches that match. `ends` is undefined for those that are open. */
  page(
    workspaceId: string,
    filter: { status?: BatchStatus | undefined },
    page: Omit<ListPage, 'ascending'>,
  ): Promise<{ total: number; batches: Batch[]; ends: PageEnds | undefined }>;
  manifest(batch: Batch): Promise<ManifestEntry[]>;
  /** Leaves out requests that are no longer stored: they are removed some time after the batch has expired. */
  requests(batch: Batch, requestIndexes: readonly number[]): Promise<BatchRequest[]>;
  item(batch: BatchKey, requestIndex: number): Promise<BatchItem | undefined>;
  /** The items of all requests that have one, in no order. Strongly consistent. */
  allItems(batch: Batch): Promise<BatchItem[]>;
  /** The newest token of the workflow's task; undefined before the batch is dispatched. */
  taskToken(batch: BatchKey): Promise<string | undefined>;
  webhook(batch: BatchKey): Promise<Webhook | undefined>;
  /** For operators, because they name a batch by its id alone. Undefined for a batch without a webhook. */
  workspaceOf(batchId: string): Promise<string | undefined>;
}
