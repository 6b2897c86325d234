import type { BatchStatus } from '#contract/batch-statuses.ts';
import type { Batch, BatchItem, BatchRequest, ManifestEntry } from './batch.ts';
import type { BatchTransitions } from './batch-transitions.ts';

export interface BatchStore extends BatchTransitions {
  /**
   * Stores all requests, then the batch, so nobody sees half of a batch. A repeated call with the same id changes
   * nothing.
   * @param checkLimit is given the number of other open batches of the workspace, and throws if one more is too many;
   *   null without a limit
   * @returns false if a batch with this id exists
   */
  create(
    batch: Batch,
    requests: readonly BatchRequest[],
    checkLimit: ((open: number) => void) | null,
  ): Promise<boolean>;
  countOpen(workspaceId: string): Promise<number>;
  get(workspaceId: string, batchId: string): Promise<Batch | undefined>;
  /** One page, newest first, and the number of all batches that match. */
  page(
    workspaceId: string,
    filter: { status?: BatchStatus | undefined },
    page: { limit: number; offset: number },
  ): Promise<{ total: number; batches: Batch[] }>;
  manifest(batch: Batch): Promise<ManifestEntry[]>;
  /** Without the requests whose texts have expired. */
  requests(batch: Batch, positions: readonly number[]): Promise<BatchRequest[]>;
  items(batch: Batch, positions: readonly number[]): Promise<(BatchItem | undefined)[]>;
  /** The items of all requests that were ever claimed, in no order. Strongly consistent. */
  allItems(batch: Batch): Promise<BatchItem[]>;
  /** For operators, who know a batch by its id alone; of batches with a webhook. */
  workspaceOf(batchId: string): Promise<string | undefined>;
}
