import { type ApiKey, hashApiKey } from './api-key.ts';
import type { Services } from './services.ts';

/** A new key, not stored yet, and its text, which is never stored. */
export function makeApiKey(
  services: Services<'clock' | 'identifiers'>,
  input: { workspaceId: string; name: string | null; expiresAt: Date | null },
): { key: ApiKey; apiKey: string } {
  const apiKey = services.identifiers.apiKey();
  return {
    apiKey,
    key: {
      id: services.identifiers.apiKeyId(),
      workspaceId: input.workspaceId,
      hash: hashApiKey(apiKey),
      prefix: apiKey.slice(0, 7),
      lastFour: apiKey.slice(-4),
      name: input.name,
      createdAt: services.clock.now().toISOString(),
      expiresAt: input.expiresAt?.toISOString() ?? null,
      revokedAt: null,
      lastUsedOn: null,
    },
  };
}
