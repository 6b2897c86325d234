import { ServiceError } from '#contract/errors.ts';
import type { ApiKey } from './api-key.ts';
import { makeApiKey } from './make-api-key.ts';
import type { Services } from './services.ts';

/**
 * Issues a key. The key's text is returned only here and never stored.
 * @throws notFound for an unknown workspace
 */
export async function createApiKey(
  services: Services<'apiKeys' | 'clock' | 'identifiers' | 'workspaces'>,
  input: { workspaceId: string; name: string | null; expiresAt: Date | null },
): Promise<{ key: ApiKey; apiKey: string }> {
  if ((await services.workspaces.get(input.workspaceId)) === undefined)
    throw new ServiceError('notFound', `Workspace ${input.workspaceId} not found`);
  const made = makeApiKey(services, input);
  await services.apiKeys.put(made.key);
  return made;
}
