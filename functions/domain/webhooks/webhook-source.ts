import type { Webhook } from './webhook.ts';
import type { DeliveryOwner } from './webhook-delivery.ts';

/** Webhooks are stored with batches, and this room must not import that room. */
export interface WebhookSource {
  /** The webhook of a batch, if it has one. */
  get(owner: DeliveryOwner): Promise<Webhook | undefined>;
}
