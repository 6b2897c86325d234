import type { WebhookEvent } from '#contract/batch-statuses.ts';

/** The webhook of a batch as it is stored. */
export type Webhook = EncryptedWebhook | FormerWebhook;

export interface EncryptedWebhook {
  events: WebhookEvent[];
  /** The target as JSON, encrypted for this batch. */
  target: string;
}

/** Of a version that encrypted only the secret. */
interface FormerWebhook {
  events: WebhookEvent[];
  url: string;
  /** Encrypted for this batch. */
  secret: string | null;
}

/** Where a webhook's calls go, and what signs them. Its JSON is stored, so names and types never change. */
export interface WebhookTarget {
  url: string;
  /** The newest first. Without one, calls are not signed. */
  secrets: string[];
}
