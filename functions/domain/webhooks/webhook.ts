import type { WebhookEvent } from '#contract/batch-statuses.ts';

export interface Webhook {
  url: string;
  events: WebhookEvent[];
  /** Sealed for this batch. */
  secret: string | null;
}
