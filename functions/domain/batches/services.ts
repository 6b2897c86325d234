import type { ChatServices } from '#domain/chats/services.ts';
import type { WebhookServices } from '#domain/webhooks/services.ts';
import type { BatchQueue } from './batch-queue.ts';
import type { BatchStore, RequestEraser } from './batch-store.ts';
import type { BatchWorkflow } from './batch-workflow.ts';
import type { ReconciliationIndex } from './reconciliation-index.ts';

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
export interface BatchSettings {
  /** From creation to expiry. Requests that were not started by then fail. */
  timeout: number;
  /** The longest time of the model for one request. */
  item: number;
}

export interface QueueSettings {
  /** In-flight message slots of one workspace: the workers that it may have. */
  workspaceSlots: number;
  /** Requests that one worker processes at once. */
  requestsPerWorker: number;
}

/** What a use case needs of them. */
export type Services<Name extends keyof BatchServices> = Pick<BatchServices, Name>;
