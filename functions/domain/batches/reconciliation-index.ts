import type { DeliveryOwner } from '#domain/webhooks/webhook-delivery.ts';

/** A batch that has not ended. */
export interface OpenBatchEntry {
  workspaceId: string;
  batchId: string;
  /** How many of its request groups were enqueued when the reconciler checked it last, and when that was. */
  lastCheck: { groups: number; at: number } | null;
}

/** A webhook that is not delivered. Its next attempt is not due before `due`, ISO 8601. */
export interface WebhookEntry extends DeliveryOwner {
  due: string;
}

/**
 * What the reconciler checks, of all workspaces. Entries are written with the batch, and with the webhook's delivery; an
 * entry may outlive its batch or delivery, but is never missing before their end.
 */
export interface ReconciliationIndex {
  /** In the order of batch ids. */
  openBatches(): Promise<OpenBatchEntry[]>;
  /** Of an entry that is still there. `at` in milliseconds since the epoch. */
  saveCheck(entry: OpenBatchEntry, check: { groups: number; at: number }): Promise<void>;
  removeOpenBatch(entry: OpenBatchEntry): Promise<void>;
  /** Workspaces that have undelivered webhooks, by id. One read for each. */
  workspacesWithWebhooks(): AsyncIterable<string>;
  /** Of one workspace, the earliest first. */
  webhooksDue(workspaceId: string, until: string): AsyncIterable<WebhookEntry>;
  putWebhook(entry: WebhookEntry): Promise<void>;
  /** Gives an entry another time. */
  moveWebhook(entry: WebhookEntry, due: string): Promise<void>;
  removeWebhook(entry: WebhookEntry): Promise<void>;
  /** The batch id from which on the next run checks open batches. */
  cursor(): Promise<string | undefined>;
  saveCursor(batchId: string): Promise<void>;
}
