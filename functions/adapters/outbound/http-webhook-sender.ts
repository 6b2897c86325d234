import type { Clock } from '#domain/platform/clock.ts';
import { OutboundFailure } from '#domain/platform/outbound-failure.ts';
import { untilAborted } from '#domain/platform/until-aborted.ts';
import type { WebhookSender } from '#domain/webhooks/webhook-sender.ts';
import { checkedAddresses, type OutboundRules } from './checked-addresses.ts';
import { sendOutbound } from './send-outbound.ts';

/**
 * A client that creates a batch waits for this lookup. If a lookup takes longer, the name is accepted, like a name that
 * does not resolve.
 */
const lookupTimeoutMilliseconds = 3000;

/** The body of a response is discarded. Up to this size it is received, so that the receiver can finish sending it. */
const responseBytes = 64 * 1024;

/** @param options.timeout milliseconds until the head of the response must have arrived */
export const httpWebhookSender = (options: {
  rules: OutboundRules;
  timeout: number;
  clock: Clock;
}): WebhookSender => ({
  async rejectionOf(url) {
    const timeout = AbortSignal.timeout(lookupTimeoutMilliseconds);
    try {
      await untilAborted(checkedAddresses(new URL(url), options.rules, timeout), timeout);
      return null;
    } catch (error) {
      if (timeout.aborted) return null;
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
      discardBody: true,
      signal: new AbortController().signal,
    });
    return { status, retryAfter: retryAfterOf(responseHeaders['retry-after'], options.clock.now()) };
  },
});

/** Converts seconds or a date (RFC 9110, section 10.2.3) to milliseconds from now. Null for any other text. */
export function retryAfterOf(header: string | undefined, now: Date): number | null {
  const text = header?.trim() ?? '';
  if (/^\d{1,10}$/.test(text)) return Number(text) * 1000;
  const date = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(0, date - now.getTime());
}
