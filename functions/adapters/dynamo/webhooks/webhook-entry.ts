import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Item } from '#adapters/dynamo/table/table.ts';
import type { DeliveryOwner } from '#domain/webhooks/webhook-delivery.ts';

/** The index entry of an undelivered webhook. The reconciler finds overdue deliveries by it. */
export const webhookEntry = ({ workspaceId, batchId }: DeliveryOwner, due: string): Item => ({
  ...keys.operatorsWebhook(workspaceId, due, batchId),
  workspace_id: workspaceId,
  batch_id: batchId,
  due,
});
