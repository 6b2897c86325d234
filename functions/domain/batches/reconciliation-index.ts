import type { DeliveryOwner } from '#domain/webhooks/webhook-delivery.ts';

/** A batch that has not ended. */
export interface OpenBatchEntry {
  workspaceId: string;
  batchId: string;
  /** Number of its request groups that were enqueued at the last check, and the time of that check. */
  lastCheck: { groups: number; at: number } | null;
}

/** A webhook that is not delivered. Its next attempt is not due before `due`, ISO 8601. */
export interface WebhookEntry extends DeliveryOwner {
  due: string;
}

/**
 * What the reconciler checks, of all workspaces. Entries are written in the transaction of the batch, and of the
 * webhook delivery. An entry may outlive its batch or delivery, but is never missing before their end.
 */
export interface ReconciliationIndex {
  /** In the order of batch ids. */
  openBatches(): Promise<OpenBatchEntry[]>;
  /** Does nothing if the entry is gone. `at` in milliseconds since the epoch. */
  saveCheck(entry: OpenBatchEntry, check: { groups: number; at: number }): Promise<void>;
  removeOpenBatch(entry: OpenBatchEntry): Promise<void>;
  /** Workspaces that have undelivered webhooks, by id. One read for each. */
  workspacesWithWebhooks(): AsyncIterable<string>;
  /** Webhooks of one workspace, the earliest due first. */
  webhooksDue(workspaceId: string, until: string): AsyncIterable<WebhookEntry>;
  putWebhook(entry: WebhookEntry): Promise<void>;
  /** Replaces the due time of an entry. */
  moveWebhook(entry: WebhookEntry, due: string): Promise<void>;
  removeWebhook(entry: WebhookEntry): Promise<void>;
  /** The batch id with which the next run starts. */
  cursor(): Promise<string | undefined>;
  saveCursor(batchId: string): Promise<void>;
}
