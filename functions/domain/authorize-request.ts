import { ServiceError } from '#contract/errors.ts';
import type { Limits } from '#contract/rate-limits.ts';
import { hashApiKey, isUsable } from './api-key.ts';
import type { Services } from './services.ts';
import { limitsOf } from './workspace.ts';

export interface Caller {
  workspaceId: string;
  apiKeyId: string;
  /** Null for a workspace without limits. */
  limits: Limits | null;
}

/**
 * Who calls (specification, section 5).
 * @throws unauthenticated for an unknown, revoked or expired key; accessDenied when its workspace is disabled.
 */
export const authorizeRequest = (
  services: Pick<Services, 'apiKeys' | 'clock' | 'stageLimits' | 'workspaces'>,
) => {
  // A key never moves to another workspace, so once seen, both are read in one round trip.
  const workspaceOfHash = new Map<string, string>();

  return async (apiKey: string): Promise<Caller> => {
    const hash = hashApiKey(apiKey);
    const seenWorkspace = workspaceOfHash.get(hash);
    const [key, early] = await Promise.all([
      services.apiKeys.byHash(hash),
      seenWorkspace === undefined ? undefined : services.workspaces.get(seenWorkspace),
    ]);
    if (key === undefined || !isUsable(key, services.clock.now()))
      throw new ServiceError('unauthenticated', 'Missing or invalid API key');
    const workspace = early ?? (await services.workspaces.get(key.workspaceId));
    workspaceOfHash.set(hash, key.workspaceId);
    if (workspace?.enabled !== true) throw new ServiceError('accessDenied', 'Access denied');
    const limits = limitsOf(workspace, services.stageLimits);
    return { workspaceId: workspace.id, apiKeyId: key.id, limits };
  };
};
