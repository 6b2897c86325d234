import type { PlatformServices } from '#domain/platform/services.ts';
import type { EncryptedWebhook, Webhook } from './webhook.ts';

/**
 * The delivery of the event of a batch's end. It exists only if the batch has ended and its webhook subscribes to that
 * event.
 */
export interface WebhookDelivery {
  workspaceId: string;
  batchId: string;
  /** The body that every attempt sends, unchanged. */
  body: string;
  /** `gone`: the receiver responded with 410. `exhausted`: no attempt of the schedule succeeded. */
  state: 'pending' | 'delivered' | 'gone' | 'exhausted';
  /** Starts at 1. Each resend by an operator adds 1. */
  round: number;
  /** Number of attempts that were started in this round. */
  attempts: number;
  allAttempts: number;
  /** Earliest time of the next attempt, ISO 8601. Only a pending delivery has a next attempt. */
  nextAt: string;
}

export interface DeliveryAttempt {
  /** Number of the attempt, counted from 1 over all rounds. */
  number: number;
  round: number;
  at: string;
  /** Milliseconds. Null while the attempt runs, and for ever if the function was killed. */
  duration: number | null;
  /** The receiver's status code; null without a response. */
  status: number | null;
  /** Why there was no response; null if there was one, or if the attempt has not ended. */
  failure: string | null;
}

export type DeliveryOwner = Pick<WebhookDelivery, 'workspaceId' | 'batchId'>;

/** The id of a batch's event. A batch ends once, so receivers can recognize a repeated event by it. */
export const eventIdOf = ({ batchId }: Pick<DeliveryOwner, 'batchId'>): string => `evt_${batchId}`;

/** `BatchTransitions.complete` creates a delivery. */
export interface DeliveryStore {
  get(owner: DeliveryOwner): Promise<WebhookDelivery | undefined>;
  /**
   * Stores that the next attempt starts. Returns undefined if another caller has changed the delivery.
   * @param attempt.nextAt the due time of the following attempt, if the function is killed during this one
   */
  start(
    delivery: WebhookDelivery,
    attempt: { at: string; nextAt: string },
  ): Promise<{ delivery: WebhookDelivery; attempt: DeliveryAttempt } | undefined>;
  /** Stores how an attempt ended. Changes the delivery only if no other attempt or round has started meanwhile. */
  end(
    delivery: WebhookDelivery,
    attempt: DeliveryAttempt,
    next: Pick<WebhookDelivery, 'state' | 'nextAt'>,
  ): Promise<void>;
  /** Ends a delivery as `exhausted`. For one whose last attempt was killed before its result was stored. */
  exhaust(delivery: WebhookDelivery): Promise<void>;
  /**
   * Starts a new round of attempts, the first of them due at once, and writes the audit entry.
   * @param at the time of the restart, ISO 8601
   * @returns undefined if another caller changed the delivery after it was read
   */
  restart(delivery: WebhookDelivery, at: string): Promise<WebhookDelivery | undefined>;
  /**
   * Replaces the webhook that is stored with the batch, for all further attempts, and writes the audit entry.
   * @returns false if another caller has changed it after it was read
   */
  replaceWebhook(owner: DeliveryOwner, read: Webhook, replacement: EncryptedWebhook): Promise<boolean>;
  /** All attempts, oldest first. */
  attempts(owner: DeliveryOwner): Promise<DeliveryAttempt[]>;
}

/** Encrypts addresses and secrets of webhooks. A text encrypted for one batch cannot be decrypted for another. */
export interface SecretCipher {
  encrypt(text: string, owner: DeliveryOwner): Promise<string>;
  decrypt(encrypted: string, owner: DeliveryOwner): Promise<string>;
}

export interface WebhookSender {
  /** Why a URL is forbidden. Null if it is allowed, or if its host name cannot be resolved now. */
  rejectionOf(url: string): Promise<string | null>;
  /**
   * Checks the address and sends one POST. Does not follow redirects: a 3xx is returned like any response.
   * @throws OutboundFailure if the address is forbidden, or if there is no response
   */
  post(
    url: string,
    call: { headers: Readonly<Record<string, string>>; body: string },
  ): Promise<WebhookResponse>;
}

export interface WebhookResponse {
  status: number;
  /** The receiver's `Retry-After` in milliseconds; null if it sent none, or an invalid one. */
  retryAfter: number | null;
}

export interface WebhookServices extends PlatformServices {
  deliveries: DeliveryStore;
  secretCipher: SecretCipher;
  webhookSender: WebhookSender;
  webhookSettings: WebhookSettings;
  /**
   * Reads the webhook of a batch, if it has one. Webhooks are stored with batches, but `domain/webhooks` must not
   * import `domain/batches`.
   */
  webhookSource: { get(owner: DeliveryOwner): Promise<Webhook | undefined> };
}

/** Times in milliseconds. */
interface WebhookSettings {
  /** The longest time that a receiver may take to respond. */
  timeout: number;
  /** The delay after each failed attempt, from its end to the next attempt. */
  retryDelays: readonly number[];
}

/** The named services: those that a use case needs. */
export type Services<Name extends keyof WebhookServices> = Pick<WebhookServices, Name>;
