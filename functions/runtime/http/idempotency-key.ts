import { createHash, createHmac } from 'node:crypto';
import type { idempotencyHeaders } from '#contract/idempotency.ts';
import { replayedHeader } from '#contract/idempotency.ts';
import type { Route } from '#contract/routes/route.ts';
import type { IdempotencyKey } from '#domain/platform/idempotency-record.ts';
import { clock } from '#runtime/environment/clock.ts';
import type { ValidRequest } from './read-request.ts';

/**
 * The key of a request with the header Idempotency-Key; null without it. Two requests are the same when the service
 * cannot tell them apart: route, path and what the schema has made of the body. Neither header nor body can be guessed
 * from what is kept, since the fingerprint is keyed with the header, of which only a hash is kept.
 */
export function idempotencyKeyOf(
  route: Route,
  { workspaceId, parameters, headers, body }: ValidRequest<Route & { headers: typeof idempotencyHeaders }>,
): IdempotencyKey | null {
  const given = headers['idempotency-key'];
  if (given === undefined) return null;
  return {
    workspaceId,
    hash: createHash('sha256').update(given).digest('base64url'),
    fingerprint: createHmac('sha256', given)
      .update(JSON.stringify([route.name, parameters, body]))
      .digest('base64url'),
    at: clock.now().getTime(),
  };
}

/** What an answer carries that an earlier request has got. */
export const replayHeaders = (replayed: boolean): Record<string, string> =>
  replayed ? { [replayedHeader]: 'true' } : {};
