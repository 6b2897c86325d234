import type { DeliveryOwner } from '#domain/webhooks/webhook-delivery.ts';

/** A batch that has not ended. */
export interface OpenBatchEntry {
  workspaceId: string;
  batchId: string;
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
  openBatches(): Promise<OpenBatchEntry[]>;
  removeOpenBatch(entry: OpenBatchEntry): Promise<void>;
  /** Workspaces that have undelivered webhooks, by id. Each workspace costs one read. */
  workspacesWithWebhooks(): AsyncIterable<string>;
  /** Webhooks of one workspace, the earliest due first. */
  webhooksDue(workspaceId: string, until: string): AsyncIterable<WebhookEntry>;
  /** Replaces the due time of an entry. */
  moveWebhook(entry: WebhookEntry, due: string): Promise<void>;
  removeWebhook(entry: WebhookEntry): Promise<void>;
}
