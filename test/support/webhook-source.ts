import type { BatchStore } from '#domain/batches/batch-store.ts';
import type { WebhookSource } from '#domain/webhooks/services.ts';

export const webhookSourceOf = (batches: Pick<BatchStore, 'webhook'>): WebhookSource => ({
  get: ({ workspaceId, batchId }) => batches.webhook({ workspaceId, id: batchId }),
});
