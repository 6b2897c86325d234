import type { ApiKey } from './api-key.ts';

export interface ApiKeyStore {
  byHash(hash: string): Promise<ApiKey | undefined>;
  /** For operators, who name keys by their ids. */
  byId(keyId: string): Promise<ApiKey | undefined>;
  put(key: ApiKey): Promise<void>;
  list(workspaceId: string): Promise<ApiKey[]>;
  /** The revoked key; undefined when there is none of that id. One that was revoked before stays so. */
  revoke(keyId: string, at: string): Promise<ApiKey | undefined>;
  /**
   * Stores a new key, and when the old one ends.
   * @returns false when the old one was changed since it was read
   */
  replace(old: ApiKey, expiresAt: string, key: ApiKey): Promise<boolean>;
  /** Notes down the last day on which a key was used, `2027-01-31`, if it is later than the one that is known. */
  markUsed(key: ApiKey, day: string, signal: AbortSignal): Promise<void>;
}
