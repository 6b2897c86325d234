import { createHash } from 'node:crypto';

export interface ApiKey {
  id: string;
  workspaceId: string;
  /** SHA-256 of the key, in hexadecimal. A store never gets the key itself. */
  hash: string;
  /** The first 7 characters of the key. */
  prefix: string;
  /** The last 4 characters of the key. */
  lastFour: string;
  name: string | null;
  createdAt: string;
  expiresAt: string | null;
  revokedAt: string | null;
  /** The last UTC day that `markUsed` has stored, such as `2027-01-31`; null if none. */
  lastUsedOn: string | null;
}

export const hashApiKey = (apiKey: string): string => createHash('sha256').update(apiKey).digest('hex');

/** Whether the key is neither revoked nor expired. Its workspace may still be disabled. */
export const isUsable = (key: ApiKey, now: Date): boolean =>
  key.revokedAt === null && !isExpired(key.expiresAt, now);

export const isExpired = (expiresAt: string | null, now: Date): boolean =>
  expiresAt !== null && new Date(expiresAt) <= now;

export interface ApiKeyStore {
  byHash(hash: string): Promise<ApiKey | undefined>;
  /** For operators, who name keys by id. */
  byId(keyId: string): Promise<ApiKey | undefined>;
  /** Stores a new key. Only `markUsed` stores a `lastUsedOn`. */
  put(key: ApiKey): Promise<void>;
  /** In order of creation. */
  list(workspaceId: string): Promise<ApiKey[]>;
  /**
   * Revokes a key.
   * @param at ISO 8601
   * @returns the revoked key; undefined if the id is unknown. A key that is already revoked does not change
   */
  revoke(keyId: string, at: string): Promise<ApiKey | undefined>;
  /**
   * Stores the new key and the old key's new expiry, both or none.
   * @returns false if the old key was revoked, or got another expiry, after it was read
   */
  replace(old: ApiKey, expiresAt: string, key: ApiKey): Promise<boolean>;
  /**
   * Stores the last UTC day on which the key was used, such as `2027-01-31`, if it is later than the stored day.
   * @param signal aborts the write
   */
  markUsed(key: ApiKey, day: string, signal: AbortSignal): Promise<void>;
}
