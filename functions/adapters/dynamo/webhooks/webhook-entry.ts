import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Item } from '#adapters/dynamo/table/table.ts';
import type { DeliveryOwner } from '#domain/webhooks/webhook-delivery.ts';

/** Of the index of undelivered webhooks, by which the reconciler finds what is overdue. */
export const webhookEntry = ({ workspaceId, batchId }: DeliveryOwner, due: string): Item => ({
  ...keys.operatorsWebhook(workspaceId, due, batchId),
  workspace_id: workspaceId,
  batch_id: batchId,
  due,
});
