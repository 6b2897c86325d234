import { createHash } from 'node:crypto';

export interface ApiKey {
  id: string;
  workspaceId: string;
  /** SHA-256 of the key, in hexadecimal. The key itself is never stored. */
  hash: string;
  prefix: string;
  lastFour: string;
  name: string | null;
  createdAt: string;
  expiresAt: string | null;
  revokedAt: string | null;
  /** The last UTC day on which the authorizer accepted the key, such as `2027-01-31`; null before its first use. */
  lastUsedOn: string | null;
}

export const hashApiKey = (apiKey: string): string => createHash('sha256').update(apiKey).digest('hex');

export const isUsable = (key: ApiKey, now: Date): boolean =>
  key.revokedAt === null && !isExpired(key.expiresAt, now);

export const isExpired = (expiresAt: string | null, now: Date): boolean =>
  expiresAt !== null && new Date(expiresAt) <= now;
