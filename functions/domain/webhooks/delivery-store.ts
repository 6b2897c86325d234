import type { EncryptedWebhook, Webhook } from './webhook.ts';
import type { DeliveryAttempt, DeliveryOwner, WebhookDelivery } from './webhook-delivery.ts';

/** The write that ends a batch also creates its delivery: see BatchStore. */
export interface DeliveryStore {
  get(owner: DeliveryOwner): Promise<WebhookDelivery | undefined>;
  /**
   * Starts the next attempt and stores it. Undefined if another caller started it, or the delivery has ended.
   * @param attempt.nextAt when the following attempt is due if the function is killed during this one
   */
  start(
    delivery: WebhookDelivery,
    attempt: { at: string; nextAt: string },
  ): Promise<{ delivery: WebhookDelivery; attempt: DeliveryAttempt } | undefined>;
  /** Stores how an attempt ended. Changes the delivery only if no other attempt has started in the meantime. */
  end(
    delivery: WebhookDelivery,
    attempt: DeliveryAttempt,
    next: Pick<WebhookDelivery, 'state' | 'nextAt'>,
  ): Promise<void>;
  /** Ends a delivery whose last attempt was killed before its result was stored. */
  exhaust(delivery: WebhookDelivery): Promise<void>;
  /** Restarts the schedule. Undefined if another caller changed the delivery after it was read. */
  restart(delivery: WebhookDelivery, at: string): Promise<WebhookDelivery | undefined>;
  /**
   * Replaces the webhook that is stored with the batch, for all further attempts.
   * @returns false if another caller has changed it after it was read
   */
  replaceWebhook(owner: DeliveryOwner, read: Webhook, replacement: EncryptedWebhook): Promise<boolean>;
  /** All attempts, oldest first. */
  attempts(owner: DeliveryOwner): Promise<DeliveryAttempt[]>;
}
