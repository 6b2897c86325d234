import type { BatchStore } from '#domain/batches/batch-store.ts';
import type { WebhookSource } from '#domain/webhooks/webhook-source.ts';

export const webhookSourceOf = (batches: Pick<BatchStore, 'get'>): WebhookSource => ({
  get: async ({ workspaceId, batchId }) => (await batches.get(workspaceId, batchId))?.webhook ?? undefined,
});
