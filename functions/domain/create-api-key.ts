import { ServiceError } from '#contract/errors.ts';
import { type ApiKey, hashApiKey } from './api-key.ts';
import type { Services } from './services.ts';

/** Issues a key. The key itself is returned this once and stored nowhere. */
export const createApiKey =
  (services: Pick<Services, 'apiKeys' | 'clock' | 'identifiers' | 'workspaces'>) =>
  async (input: {
    workspaceId: string;
    name: string | null;
    expiresAt: Date | null;
  }): Promise<{ key: ApiKey; apiKey: string }> => {
    if ((await services.workspaces.get(input.workspaceId)) === undefined)
      throw new ServiceError('notFound', `Workspace ${input.workspaceId} not found`);
    const apiKey = services.identifiers.apiKey();
    const key: ApiKey = {
      id: services.identifiers.apiKeyId(),
      workspaceId: input.workspaceId,
      hash: hashApiKey(apiKey),
      prefix: apiKey.slice(0, 7),
      lastFour: apiKey.slice(-4),
      name: input.name,
      createdAt: services.clock.now().toISOString(),
      expiresAt: input.expiresAt?.toISOString() ?? null,
      revokedAt: null,
    };
    await services.apiKeys.put(key);
    return { key, apiKey };
  };
