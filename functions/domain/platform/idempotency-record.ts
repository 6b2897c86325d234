import { ServiceError } from '#contract/errors.ts';

/** A request that its client may make again, by the header Idempotency-Key. */
export interface IdempotencyKey {
  workspaceId: string;
  /** Of the header. */
  hash: string;
  /** Of route, path and body: another request with the same key has another. */
  fingerprint: string;
  /** When the request came, milliseconds since the epoch. */
  at: number;
}

/** What a request with a key has become: ids, never texts. */
export type Work =
  | { is: 'chat'; chatId: number; createdAt: string }
  /** The user message stands at the position, the reply behind it once there is one. */
  | { is: 'turn'; chatId: number; position: number }
  /** The id is kept before the batch is made. */
  | { is: 'batch'; batchId: string };

/** What is kept under a key. */
export interface IdempotencyRecord {
  fingerprint: string;
  work: Work;
}

/**
 * What an earlier request with the key has become; undefined when there was none.
 * @throws badRequest when it was another request
 */
export function previousWork<Kind extends Work['is']>(
  stored: IdempotencyRecord | undefined,
  key: IdempotencyKey | null,
  kind: Kind,
): Extract<Work, { is: Kind }> | undefined {
  if (stored === undefined || key === null) return undefined;
  if (stored.fingerprint !== key.fingerprint)
    throw new ServiceError(
      'badRequest',
      'Idempotency-Key was used for another request, with another path or body; give each request a key of its own',
    );
  // The route is part of the fingerprint.
  if (stored.work.is !== kind) throw new Error(`A request of ${kind} has kept ${stored.work.is}`);
  return stored.work as Extract<Work, { is: Kind }>;
}
