import type { IdempotencyKey, IdempotencyRecord, Work } from './idempotency-record.ts';

/** Chats and messages store their key in the transaction that creates them: see ChatStore and MessageStore. */
export interface IdempotencyStore {
  /** Undefined if the key was not used, or its record has expired. */
  find(key: IdempotencyKey): Promise<IdempotencyRecord | undefined>;
  /** Stores what the request will create, unless the key is in use. @returns the record that is then stored */
  store(key: IdempotencyKey, work: Work): Promise<IdempotencyRecord>;
}
