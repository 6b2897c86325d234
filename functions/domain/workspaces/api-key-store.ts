import type { ApiKey } from './api-key.ts';

export interface ApiKeyStore {
  byHash(hash: string): Promise<ApiKey | undefined>;
  /** For operators: they name keys by id. */
  byId(keyId: string): Promise<ApiKey | undefined>;
  /** Stores a new key. Only `markUsed` stores a `lastUsedOn`. */
  put(key: ApiKey): Promise<void>;
  /** In order of creation. */
  list(workspaceId: string): Promise<ApiKey[]>;
  /** @returns the revoked key; undefined if the id is unknown. A key that is already revoked does not change. */
  revoke(keyId: string, at: string): Promise<ApiKey | undefined>;
  /**
   * Stores the new key and the old key's new expiry.
   * @returns false if the old key was revoked, or got another expiry, after it was read. A use of the old key in the
   * meantime does not matter
   */
  replace(old: ApiKey, expiresAt: string, key: ApiKey): Promise<boolean>;
  /** Stores the last day on which the key was used, such as `2027-01-31`, if it is later than the stored day. */
  markUsed(key: ApiKey, day: string, signal: AbortSignal): Promise<void>;
}
