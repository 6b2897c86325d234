import type { BatchStore } from '#domain/batches/batch-store.ts';
import type { WebhookServices } from '#domain/webhooks/webhook.ts';

export const webhookSourceOf = (batches: Pick<BatchStore, 'webhook'>): WebhookServices['webhookSource'] => ({
  get: ({ workspaceId, batchId }) => batches.webhook({ workspaceId, id: batchId }),
});
