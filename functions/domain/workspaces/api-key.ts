import { createHash } from 'node:crypto';
import { isExpired } from '#domain/platform/services.ts';

export interface ApiKey {
  id: string;
  workspaceId: string;
  /** SHA-256 of the key, in hexadecimal. A store never gets the key itself. */
  hash: string;
  prefix: string;
  lastFour: string;
  name: string | null;
  createdAt: string;
  expiresAt: string | null;
  revokedAt: string | null;
  /** The last UTC day that `markUsed` has stored, such as `2027-01-31`; null if none. */
  lastUsedOn: string | null;
}

export const hashApiKey = (apiKey: string): string => createHash('sha256').update(apiKey).digest('hex');

/** Does not check whether the workspace is enabled. */
export const isUsable = (key: ApiKey, now: Date): boolean =>
  key.revokedAt === null && !isExpired(key.expiresAt, now);

export interface ApiKeyStore {
  byHash(hash: string): Promise<ApiKey | undefined>;
  byId(keyId: string): Promise<ApiKey | undefined>;
  /** Does not store `lastUsedOn`: only `markUsed` does. */
  put(key: ApiKey): Promise<void>;
  list(workspaceId: string): Promise<ApiKey[]>;
  /** @returns undefined if the id is unknown. A key that is already revoked does not change */
  revoke(keyId: string, at: string): Promise<ApiKey | undefined>;
  /**
   * Stores both keys or none.
   * @returns false if the old key was revoked, or got another expiry, after it was read
   */
  replace(old: ApiKey, expiresAt: string, key: ApiKey): Promise<boolean>;
  /** Stores the day, such as `2027-01-31`, if it is later than the stored one. */
  markUsed(key: ApiKey, day: string, signal: AbortSignal): Promise<void>;
}
