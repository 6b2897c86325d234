import { createHash } from 'node:crypto';

export interface ApiKey {
  id: string;
  workspaceId: string;
  /** SHA-256 of the key, hex: the key itself is never stored. */
  hash: string;
  prefix: string;
  lastFour: string;
  name: string | null;
  createdAt: string;
  expiresAt: string | null;
  revokedAt: string | null;
  /** The last day, in UTC, on which the authorizer let it in: `2027-01-31`; null until it was used. */
  lastUsedOn: string | null;
}

export const hashApiKey = (apiKey: string): string => createHash('sha256').update(apiKey).digest('hex');

/** Whether a key may be used at a moment. */
export const isUsable = (key: ApiKey, now: Date): boolean =>
  key.revokedAt === null && !isExpired(key.expiresAt, now);

export const isExpired = (expiresAt: string | null, now: Date): boolean =>
  expiresAt !== null && new Date(expiresAt) <= now;
