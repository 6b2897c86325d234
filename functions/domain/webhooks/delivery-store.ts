import type { DeliveryAttempt, DeliveryOwner, WebhookDelivery } from './webhook-delivery.ts';

/** Deliveries begin with the write that closes their batch: see BatchStore. */
export interface DeliveryStore {
  get(owner: DeliveryOwner): Promise<WebhookDelivery | undefined>;
  /**
   * Takes the next attempt, and notes it down. Undefined when someone else took it, or the delivery is over.
   * @param nextAt when the attempt after it is due, should this one never be heard of again
   */
  start(
    delivery: WebhookDelivery,
    attempt: { at: string; nextAt: string },
  ): Promise<{ delivery: WebhookDelivery; attempt: DeliveryAttempt } | undefined>;
  /** Notes down how an attempt ended, and what that means for its delivery, unless others have gone on with it. */
  end(
    delivery: WebhookDelivery,
    attempt: DeliveryAttempt,
    then: Pick<WebhookDelivery, 'state' | 'nextAt'>,
  ): Promise<void>;
  /** Ends a delivery whose last attempt was never heard of again. */
  exhaust(delivery: WebhookDelivery): Promise<void>;
  /** Begins the schedule anew. Undefined when someone else did since the delivery was read. */
  restart(delivery: WebhookDelivery, at: string): Promise<WebhookDelivery | undefined>;
  /** All attempts, oldest first. */
  attempts(owner: DeliveryOwner): Promise<DeliveryAttempt[]>;
}
