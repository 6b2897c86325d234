import { createHash, createHmac } from 'node:crypto';
import type { idempotencyHeaders } from '#contract/idempotency.ts';
import { replayedHeader } from '#contract/idempotency.ts';
import type { Route } from '#contract/routes/route.ts';
import type { IdempotencyKey } from '#domain/platform/idempotency-record.ts';
import { clock } from '#runtime/environment/clock.ts';
import type { ValidRequest } from './request.ts';

/**
 * The idempotency key of a request; null without the header Idempotency-Key. The fingerprint covers the route, the path
 * parameters and the parsed body: requests that differ in none of them are the same. The stored record does not reveal
 * the header or the body: the header is stored as a hash, and the fingerprint is an HMAC keyed with the header.
 */
export function idempotencyKeyOf(
  route: Route,
  { workspaceId, parameters, headers, body }: ValidRequest<Route & { headers: typeof idempotencyHeaders }>,
): IdempotencyKey | null {
  const header = headers['idempotency-key'];
  if (header === undefined) return null;
  return {
    workspaceId,
    hash: createHash('sha256').update(header).digest('base64url'),
    fingerprint: createHmac('sha256', header)
      .update(JSON.stringify([route.name, parameters, body]))
      .digest('base64url'),
    at: clock.now().getTime(),
  };
}

/** The key of a request without the header: what the request creates is created once, even if the gateway repeats it. */
export const gatewayKeyOf = (request: { workspaceId: string; gatewayId: string }): IdempotencyKey => ({
  workspaceId: request.workspaceId,
  hash: `request ${request.gatewayId}`,
  fingerprint: request.gatewayId,
  at: clock.now().getTime(),
});

/** Additional headers of a replayed response. */
export const replayHeaders = (replayed: boolean): Record<string, string> =>
  replayed ? { [replayedHeader]: 'true' } : {};
