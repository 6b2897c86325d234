import { createHmac, timingSafeEqual } from 'node:crypto';
import type { WebhookEvent } from '#contract/batch-statuses.ts';

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
