import type { PlatformServices } from '#domain/platform/services.ts';
import type { EncryptedWebhook, Webhook } from './webhook.ts';

/** Exists only if the batch has ended and its webhook subscribes to the event of that end. */
export interface WebhookDelivery {
  workspaceId: string;
  batchId: string;
  body: string;
  /** `gone`: the receiver responded with 410. `exhausted`: no attempt is left. */
  state: 'pending' | 'delivered' | 'gone' | 'exhausted';
  /** Starts at 1. Each resend by an operator adds 1. */
  round: number;
  attempts: number;
  allAttempts: number;
  /** ISO 8601. Only a pending delivery has a next attempt. */
  nextAt: string;
}

export interface DeliveryAttempt {
  /** Counted from 1 over all rounds. */
  number: number;
  round: number;
  at: string;
  /** Milliseconds. Null while the end of the attempt is not stored. */
  duration: number | null;
  status: number | null;
  failure: string | null;
}

export type DeliveryOwner = Pick<WebhookDelivery, 'workspaceId' | 'batchId'>;

/** A batch ends once, so its id identifies the event. */
export const eventIdOf = ({ batchId }: Pick<DeliveryOwner, 'batchId'>): string => `evt_${batchId}`;

export interface DeliveryStore {
  get(owner: DeliveryOwner): Promise<WebhookDelivery | undefined>;
  /**
   * Undefined if the delivery has ended, or another attempt or round has started, since it was read.
   * @param attempt.nextAt the due time of the following attempt, unless `end` sets another
   */
  start(
    delivery: WebhookDelivery,
    attempt: { at: string; nextAt: string },
  ): Promise<{ delivery: WebhookDelivery; attempt: DeliveryAttempt } | undefined>;
  /** Changes the delivery only if no other attempt or round has started meanwhile. */
  end(
    delivery: WebhookDelivery,
    attempt: DeliveryAttempt,
    next: Pick<WebhookDelivery, 'state' | 'nextAt'>,
  ): Promise<void>;
  /** For a delivery that is pending although no attempt is left, for example because the function was killed. */
  exhaust(delivery: WebhookDelivery): Promise<void>;
  /**
   * The first attempt of the new round is due at `at`, ISO 8601. Undefined if `state`, `round` or `attempts` has
   * changed since the delivery was read.
   */
  restart(delivery: WebhookDelivery, at: string): Promise<WebhookDelivery | undefined>;
  /** @returns false if the stored webhook is no longer `read` */
  replaceWebhook(owner: DeliveryOwner, read: Webhook, replacement: EncryptedWebhook): Promise<boolean>;
  attempts(owner: DeliveryOwner): Promise<DeliveryAttempt[]>;
}

/** A text encrypted for one batch cannot be decrypted for another. */
export interface SecretCipher {
  encrypt(text: string, owner: DeliveryOwner): Promise<string>;
  decrypt(encrypted: string, owner: DeliveryOwner): Promise<string>;
}

export interface WebhookSender {
  /** Null if the URL is allowed, or if its host name cannot be resolved now. */
  rejectionOf(url: string): Promise<string | null>;
  /**
   * Does not follow redirects: a 3xx is returned like any response.
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
  /** A service, because `domain/webhooks` must not import `domain/batches`. */
  webhookSource: { get(owner: DeliveryOwner): Promise<Webhook | undefined> };
}

/** Times in milliseconds. */
interface WebhookSettings {
  timeout: number;
  retryDelays: readonly number[];
}

export type Services<Name extends keyof WebhookServices> = Pick<WebhookServices, Name>;
