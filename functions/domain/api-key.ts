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
}

export const hashApiKey = (apiKey: string): string => createHash('sha256').update(apiKey).digest('hex');

/** Whether a key may be used at a moment. */
export const isUsable = (key: ApiKey, now: Date): boolean =>
  key.revokedAt === null && (key.expiresAt === null || new Date(key.expiresAt) > now);
