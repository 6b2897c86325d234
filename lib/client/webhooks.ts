import { ChatBatchError, WebhookVerificationError } from './errors.ts';
import type { BatchEndedEvent } from './schema.ts';

export interface UnwrapOptions {
  /** The secret of the batch's webhook. Several, while you replace one: any of them may have signed the call. */
  secret: string | readonly string[];
  /** Seconds that the time of the call may differ from now; 300 by default. */
  tolerance?: number;
}

type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Checks the signature of a webhook call, and returns its event. The `id` is made of the signed body, because the
 * signature does not cover the header `x-service-event-id`.
 * @param body the body exactly as it came, before any JSON parser
 * @throws WebhookVerificationError if the signature is missing or wrong, or the time differs too much; ChatBatchError
 * if there is no secret or an empty one, or the body is neither text nor bytes
 */
export async function unwrapWebhook(
  body: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  { secret, tolerance = 300 }: UnwrapOptions,
): Promise<BatchEndedEvent & { id: string }> {
  const secrets = typeof secret === 'string' ? [secret] : [...(secret ?? [])];
  if (secrets.length === 0 || secrets.some((each) => !each))
    throw new ChatBatchError('The secret of the webhook is empty');
  const bytes = bytesOf(body);
  const timestamp = headerOf(headers, 'x-service-timestamp');
  const signature = /^sha256=([\da-f]{64})$/.exec(headerOf(headers, 'x-service-signature'))?.[1];
  if (signature === undefined || !/^\d+$/.test(timestamp))
    throw new WebhookVerificationError('The call has no signature');
  const text = new TextEncoder();
  const prefix = text.encode(`${timestamp}.`);
  const signed = new Uint8Array(prefix.length + bytes.length);
  signed.set(prefix);
  signed.set(bytes, prefix.length);
  const digest = Uint8Array.from(signature.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  let isSigned = false;
  for (const each of secrets) {
    const key = await crypto.subtle.importKey('raw', text.encode(each), algorithm, false, ['verify']);
    if (await crypto.subtle.verify('HMAC', key, digest, signed)) isSigned = true;
  }
  if (!isSigned) throw new WebhookVerificationError('The signature does not match the body and the secret');
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > tolerance)
    throw new WebhookVerificationError('The time of the call is too far from now');
  const event = JSON.parse(new TextDecoder().decode(bytes)) as BatchEndedEvent;
  return { ...event, id: `evt_${event.data.id}` };
}

function bytesOf(body: string | Uint8Array | ArrayBuffer): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  throw new ChatBatchError('The body must be the text or the bytes that came, not parsed JSON');
}

function headerOf(headers: WebhookHeaders, name: string): string {
  if (headers instanceof Headers) return headers.get(name) ?? '';
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return String(found ?? '');
}
