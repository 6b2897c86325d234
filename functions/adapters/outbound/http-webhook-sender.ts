import type { Clock } from '#domain/platform/clock.ts';
import { OutboundFailure } from '#domain/platform/outbound-failure.ts';
import { untilAborted } from '#domain/platform/until-aborted.ts';
import type { WebhookSender } from '#domain/webhooks/webhook-sender.ts';
import { checkedAddresses, type OutboundRules } from './checked-addresses.ts';
import { sendOutbound } from './send-outbound.ts';

/** A client waits for it: a name that takes longer counts as one that does not resolve. Milliseconds. */
const lookupTime = 3000;

/** Of an answer that nobody reads, so much is let through for the receiver's sake before the connection ends. */
const responseBytes = 64 * 1024;

/** @param timeout milliseconds until the head of the answer must be there */
export const httpWebhookSender = (options: {
  rules: OutboundRules;
  timeout: number;
  clock: Clock;
}): WebhookSender => ({
  async rejectionOf(url) {
    const patience = AbortSignal.timeout(lookupTime);
    try {
      await untilAborted(checkedAddresses(new URL(url), options.rules), patience);
      return null;
    } catch (error) {
      if (patience.aborted) return null;
      if (!(error instanceof OutboundFailure)) throw error;
      return error.kind === 'unresolved' ? null : error.message;
    }
  },

  async post(url, { headers, body }) {
    const { status, headers: responseHeaders } = await sendOutbound({
      url: new URL(url),
      method: 'POST',
      headers: { 'User-Agent': 'agent-service-webhooks', ...headers },
      body: Buffer.from(body),
      rules: options.rules,
      redirects: 0,
      times: { response: options.timeout, whole: options.timeout },
      maxBytes: responseBytes,
      headAlone: true,
      signal: new AbortController().signal,
    });
    return { status, retryAfter: retryAfterOf(responseHeaders['retry-after'], options.clock.now()) };
  },
});

/** Seconds or a date (RFC 9110, section 10.2.3); anything else says nothing. */
export function retryAfterOf(header: string | undefined, now: Date): number | null {
  const text = header?.trim() ?? '';
  if (/^\d{1,10}$/.test(text)) return Number(text) * 1000;
  const date = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(0, date - now.getTime());
}
