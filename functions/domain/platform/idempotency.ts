import { ServiceError } from '#contract/errors.ts';

/**
 * The key of a request that may arrive more than once, but must do its work once: the header Idempotency-Key, or the
 * gateway's id of the request.
 */
export interface IdempotencyKey {
  workspaceId: string;
  /** Hash of the header's value, or a text with the gateway's id. */
  hash: string;
  /**
   * Hash of the route, the path parameters and the body. If the key is the gateway's id of the request, the fingerprint
   * is that id too.
   */
  fingerprint: string;
  /** The time of the request, in epoch milliseconds. */
  at: number;
}

/** What a request with an idempotency key creates. It contains no texts. */
export type Work =
  | { is: 'chat'; chatId: number; createdAt: string }
  /** `position` is that of the user message. The reply has the next position, once it is stored. */
  | { is: 'turn'; chatId: number; position: number }
  /** The id is stored before the batch is created. */
  | { is: 'batch'; batchId: string };

/** What is stored under an idempotency key. */
export interface IdempotencyRecord {
  fingerprint: string;
  work: Work;
}

/**
 * The work of the earlier request with this key; undefined if there is no record of one, or no key.
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
  // No client can cause this, because the route is part of the fingerprint.
  if (stored.work.is !== kind)
    throw new Error(`The idempotency record of a ${kind} names a ${stored.work.is}`);
  return stored.work as Extract<Work, { is: Kind }>;
}

/** Chats and messages store their key in the transaction that creates them: see NewChatStore and MessageStore. */
export interface IdempotencyStore {
  /** Undefined if the key was not used, or its record has expired. */
  find(key: IdempotencyKey): Promise<IdempotencyRecord | undefined>;
  /**
   * Stores what the request will create, unless the key is in use.
   * @returns the record that the key has then: the new one, or that of an earlier request
   */
  store(key: IdempotencyKey, work: Work): Promise<IdempotencyRecord>;
}
