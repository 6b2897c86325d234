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
 * The index entries that the reconciler checks, of all workspaces. An entry is written in the transaction that creates
 * its batch or its webhook delivery. An entry may exist after its batch or delivery has ended, but is never missing
 * before.
 */
export interface ReconciliationIndex {
  /** In the order of batch ids. */
  openBatches(): Promise<OpenBatchEntry[]>;
  /** Does nothing if the entry no longer exists. `at` in milliseconds since the epoch. */
  saveCheck(entry: OpenBatchEntry, check: { groups: number; at: number }): Promise<void>;
  removeOpenBatch(entry: OpenBatchEntry): Promise<void>;
  /** Workspaces that have undelivered webhooks, by id. Each workspace costs one read. */
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
