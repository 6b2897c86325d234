import type { Webhook } from './webhook.ts';
import type { DeliveryOwner } from './webhook-delivery.ts';

/** Webhooks are stored with batches, but `domain/webhooks` must not import `domain/batches`. */
export interface WebhookSource {
  /** The webhook of a batch, if it has one. */
  get(owner: DeliveryOwner): Promise<Webhook | undefined>;
}
