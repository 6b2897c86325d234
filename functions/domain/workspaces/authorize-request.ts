import { ServiceError, unauthenticated } from '#contract/errors.ts';
import type { Limits } from '#contract/rate-limits.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import { type ApiKey, hashApiKey, isUsable } from './api-key.ts';
import type { WorkspaceServices } from './services.ts';
import { dayOf } from './usage.ts';
import { limitsOf } from './workspace.ts';

/** Milliseconds: as long as a client's first request of a day may wait for it to be noted down. */
const markTimeoutMilliseconds = 1000;

export interface Caller {
  workspaceId: string;
  apiKeyId: string;
  /** Null for a workspace without limits. */
  limits: Limits | null;
  /** When the key ends; null when never. The answer may be cached longer than that. */
  expiresAt: string | null;
}

/**
 * Who calls (specification, section 5).
 * @throws unauthenticated for an unknown, revoked or expired key; accessDenied when its workspace is disabled.
 */
export const authorizeRequest = (
  services: Pick<WorkspaceServices, 'apiKeys' | 'stageLimits' | 'workspaces'> &
    Pick<PlatformServices, 'clock' | 'log' | 'meter'>,
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
    const now = services.clock.now();
    if (key === undefined || !isUsable(key, now)) {
      services.meter.keyRejected(
        key === undefined ? 'unknown' : key.revokedAt === null ? 'expired' : 'revoked',
      );
      throw unauthenticated();
    }
    const [workspace] = await Promise.all([
      early ?? services.workspaces.get(key.workspaceId),
      markUsed(services, key, now),
    ]);
    workspaceOfHash.set(hash, key.workspaceId);
    if (workspace?.enabled !== true) {
      services.meter.keyRejected('disabled');
      throw new ServiceError('accessDenied', 'Access denied');
    }
    const limits = limitsOf(workspace, services.stageLimits);
    return { workspaceId: workspace.id, apiKeyId: key.id, expiresAt: key.expiresAt, limits };
  };
};

/** Once a key and day. A request is let in also when this fails: it is for operators to look at. */
async function markUsed(
  services: Pick<WorkspaceServices, 'apiKeys'> & Pick<PlatformServices, 'clock' | 'log'>,
  key: ApiKey,
  now: Date,
): Promise<void> {
  const day = dayOf(now);
  if (key.lastUsedOn !== null && key.lastUsedOn >= day) return;
  const timedOut = new AbortController();
  const cancel = services.clock.after(markTimeoutMilliseconds, () => timedOut.abort());
  try {
    await services.apiKeys.markUsed(key, day, timedOut.signal);
  } catch (error) {
    services.log.warn('The last use of a key was not noted down', { apiKeyId: key.id, error });
  } finally {
    cancel();
  }
}
