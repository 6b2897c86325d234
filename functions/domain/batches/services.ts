import type { BatchQueue } from './batch-queue.ts';
import type { BatchStore } from './batch-store.ts';
import type { BatchWorkflow } from './batch-workflow.ts';
import type { ReconciliationIndex } from './reconciliation-index.ts';

export interface BatchServices {
  batchQueue: BatchQueue;
  batchSettings: BatchSettings;
  batchWorkflow: BatchWorkflow;
  batches: BatchStore;
  queueSettings: QueueSettings;
  reconciliationIndex: ReconciliationIndex;
}

/** Times in milliseconds. */
export interface BatchSettings {
  /** From its creation on; what has not been begun by then fails. */
  timeout: number;
  /** How long one request may take its model. */
  item: number;
}

export interface QueueSettings {
  /** Messages of one workspace that are in the queue or being done: its share of the workers. */
  workspaceSlots: number;
}
