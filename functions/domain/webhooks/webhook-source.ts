import type { Webhook } from './webhook.ts';
import type { DeliveryOwner } from './webhook-delivery.ts';

/** Webhooks belong to batches, which this room does not know. */
export interface WebhookSource {
  /** The webhook of a batch, if it has one. */
  get(owner: DeliveryOwner): Promise<Webhook | undefined>;
}
