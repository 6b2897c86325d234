import { createHmac, timingSafeEqual } from 'node:crypto';
import type { WebhookEvent } from '#contract/batch-statuses.ts';
import type { PlatformServices } from '#domain/platform/services.ts';

export type Webhook = EncryptedWebhook | FormerWebhook;

export interface EncryptedWebhook {
  events: WebhookEvent[];
  /** A `WebhookTarget` as JSON, encrypted for this batch. */
  target: string;
}

/** Stored by an earlier release, which encrypted only the secret. */
interface FormerWebhook {
  events: WebhookEvent[];
  url: string;
  secret: string | null;
}

/** Its JSON is stored, so names and types never change. */
export interface WebhookTarget {
  url: string;
  /** The newest first. Without secrets, calls are not signed. */
  secrets: string[];
}

interface SignedCall {
  secret: string;
  /** Unix time in seconds, as in the header. */
  timestamp: string;
  /** Exactly the bytes that are sent. */
  body: string | Uint8Array;
}

/** The value of `X-Service-Signature` (specification, section 6.2). */
export const webhookSignature = ({ secret, timestamp, body }: SignedCall): string =>
  `sha256=${createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')}`;

/** One signature of the header `webhook-signature` (https://www.standardwebhooks.com). */
export const standardSignature = (call: SignedCall & { eventId: string }): string =>
  `v1,${createHmac('sha256', standardKey(call.secret)).update(`${call.eventId}.${call.timestamp}.`).update(call.body).digest('base64')}`;

const prefixed = /^whsec_((?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?)$/;

/** Libraries for Standard Webhooks decode the base64 after `whsec_`. Any other secret is the key as UTF-8. */
function standardKey(secret: string): string | Buffer {
  const [, base64 = ''] = prefixed.exec(secret) ?? [];
  return base64 === '' ? secret : Buffer.from(base64, 'base64');
}

export function isRightSignature(signature: string, call: SignedCall): boolean {
  const actual = Buffer.from(signature);
  const expected = Buffer.from(webhookSignature(call));
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

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
   * Does not follow redirects: a 3xx is returned like any response. An error in the body is no failure.
   * @throws OutboundFailure if the address is forbidden, or if no valid status and headers arrive in time
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
