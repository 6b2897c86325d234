import type { WebhookEvent } from '#contract/batch-statuses.ts';

export interface Webhook {
  url: string;
  events: WebhookEvent[];
  /** Encrypted for this batch. */
  secret: string | null;
}
