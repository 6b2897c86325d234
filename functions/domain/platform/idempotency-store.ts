import type { IdempotencyKey, IdempotencyRecord, Work } from './idempotency-record.ts';

/** Chats and messages keep their key in the transaction that makes them: see ChatStore and MessageStore. */
export interface IdempotencyStore {
  /** Undefined when the key was not used, or is forgotten by now. */
  find(key: IdempotencyKey): Promise<IdempotencyRecord | undefined>;
  /** Keeps what the request is about to make, unless the key is in use. @returns what is then kept */
  store(key: IdempotencyKey, work: Work): Promise<IdempotencyRecord>;
}
