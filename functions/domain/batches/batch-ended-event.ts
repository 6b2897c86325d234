import type { WebhookPayload } from '#contract/batch.ts';
import type { WebhookDelivery } from '#domain/webhooks/webhook-delivery.ts';
import { type Batch, batchResource, wantsWebhook } from './batch.ts';

/** The delivery that the end of a batch starts; null if its webhook does not want the event. */
export function deliveryOf(ended: Batch): WebhookDelivery | null {
  const { status } = ended;
  if (status === 'in_progress' || status === 'cancelling' || !wantsWebhook(ended)) return null;
  const endedAt = ended.completedAt ?? ended.cancelledAt;
  if (endedAt === null) throw new Error(`The batch ${ended.id} has ended without a time`);
  const { id, total_requests, completed_requests, failed_requests } = batchResource(ended);
  const payload: WebhookPayload = {
    event: `batch.${status}`,
    timestamp: endedAt,
    data: { id, status, total_requests, completed_requests, failed_requests },
  };
  return {
    workspaceId: ended.workspaceId,
    batchId: id,
    body: JSON.stringify(payload),
    state: 'pending',
    round: 1,
    attempts: 0,
    allAttempts: 0,
    nextAt: endedAt,
  };
}
