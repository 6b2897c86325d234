import { isPlainLoopbackUrl } from '#contract/urls.ts';
import { OutboundFailure } from '#domain/platform/failures.ts';
import { untilAborted } from '#domain/platform/promises.ts';
import type { Clock } from '#domain/platform/services.ts';
import type { WebhookSender } from '#domain/webhooks/webhook.ts';
import { checkedAddresses, type OutboundRules } from './addresses.ts';
import { dropBody, sendOutbound } from './send-outbound.ts';

/** A client that creates a batch waits for the lookup of its webhook's host. */
const lookupTimeoutMilliseconds = 3000;

/** Up to this size, the body of a response is read and dropped, so that the server can finish sending it. */
const responseBytes = 64 * 1024;

interface SenderOptions {
  rules: OutboundRules;
  /** Whether a URL may be one of plain http with the host 127.0.0.1 or [::1]. */
  allowsPlainLoopback: boolean;
  timeout: number;
  clock: Clock;
}

/** @throws OutboundFailure `malformed` for a URL that is not https, unless it is one of loopback that is allowed */
function rulesFor(url: URL, { rules, allowsPlainLoopback }: SenderOptions): OutboundRules {
  if (url.protocol === 'https:') return rules;
  if (!allowsPlainLoopback || !isPlainLoopbackUrl(url.href))
    throw new OutboundFailure('malformed', 'The address must be an https URL');
  return { ...rules, allow: [...rules.allow, { host: url.hostname, port: '*' }] };
}

export const httpWebhookSender = (options: SenderOptions): WebhookSender => ({
  async rejectionOf(url) {
    const timeout = AbortSignal.timeout(lookupTimeoutMilliseconds);
    try {
      const parsed = new URL(url);
      await untilAborted(checkedAddresses(parsed, rulesFor(parsed, options), timeout), timeout);
      return null;
    } catch (error) {
      if (timeout.aborted) return null;
      if (!(error instanceof OutboundFailure)) throw error;
      return error.kind === 'unresolved' ? null : error.message;
    }
  },

  async post(url, { headers, body }) {
    const parsed = new URL(url);
    const request = {
      ...({ url: parsed, method: 'POST', body: Buffer.from(body), maxBytes: responseBytes } as const),
      headers: { 'User-Agent': 'agent-service-webhooks', ...headers },
      ...{ rules: rulesFor(parsed, options), redirects: 0 },
      times: { response: options.timeout, whole: options.timeout },
      signal: new AbortController().signal,
    };
    const { status, headers: responseHeaders } = await sendOutbound(request, dropBody);
    return { status, retryAfter: retryAfterOf(responseHeaders['retry-after'], options.clock.now()) };
  },
});

/** In milliseconds, from seconds or a date (RFC 9110, section 10.2.3), or null. */
export function retryAfterOf(header: string | undefined, now: Date): number | null {
  const text = header?.trim() ?? '';
  if (/^\d{1,10}$/.test(text)) return Number(text) * 1000;
  const date = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(0, date - now.getTime());
}
