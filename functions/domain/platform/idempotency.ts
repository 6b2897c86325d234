import { ServiceError } from '#contract/errors.ts';

/** From the header Idempotency-Key, or from the gateway's id of the request. */
export interface IdempotencyKey {
  workspaceId: string;
  hash: string;
  /** Identifies the route, the path parameters and the body; or the gateway's id. */
  fingerprint: string;
  /** Epoch milliseconds. */
  at: number;
}

/** Must contain no text of a user: a record can stay after its chat was deleted. */
export type Work =
  | { is: 'chat'; chatId: number; createdAt: string }
  /** `position` is that of the user message. */
  | { is: 'turn'; chatId: number; position: number }
  /** The id is stored before the batch is created. */
  | { is: 'batch'; batchId: string };

export interface IdempotencyRecord {
  fingerprint: string;
  work: Work;
}

/**
 * Undefined without a record or a key.
 * @throws badRequest if the key was used for a different request
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
  // No client can cause this: the fingerprint of a client's key contains the route.
  if (stored.work.is !== kind)
    throw new Error(`The idempotency record of a ${kind} names a ${stored.work.is}`);
  return stored.work as Extract<Work, { is: Kind }>;
}

export interface IdempotencyStore {
  find(key: IdempotencyKey): Promise<IdempotencyRecord | undefined>;
  /** @returns the new record, or that of an earlier request with the key */
  store(key: IdempotencyKey, work: Work): Promise<IdempotencyRecord>;
}
