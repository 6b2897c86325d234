import { ServiceError, unauthenticated } from '#contract/errors.ts';
import type { Limits } from '#contract/rate-limits.ts';
import { type ApiKey, hashApiKey, isUsable } from './api-key.ts';
import type { Services } from './services.ts';
import { dayOf } from './usage.ts';
import { limitsOf } from './workspace.ts';

/** The first request of a key on a day waits at most this long for the write of its last use. */
const markTimeoutMilliseconds = 1000;

export interface Caller {
  workspaceId: string;
  apiKeyId: string;
  /** Null for a workspace without limits. */
  limits: Limits | null;
  /** When the key expires; null if never. Check it: the gateway may cache the authorizer's response for longer. */
  expiresAt: string | null;
}

/**
 * The caller that an API key belongs to (specification, section 5).
 * @throws unauthenticated for an unknown, revoked or expired key; accessDenied if its workspace is disabled.
 */
export const authorizeRequest = (
  services: Services<'apiKeys' | 'clock' | 'log' | 'meter' | 'stageLimits' | 'workspaces'>,
) => {
  // A key never moves to another workspace. So, for a known key, key and workspace are read concurrently.
  const workspaceOfHash = new Map<string, string>();

  return async (apiKey: string): Promise<Caller> => {
    const hash = hashApiKey(apiKey);
    const knownWorkspaceId = workspaceOfHash.get(hash);
    const [key, prefetched] = await Promise.all([
      services.apiKeys.byHash(hash),
      knownWorkspaceId === undefined ? undefined : services.workspaces.get(knownWorkspaceId),
    ]);
    const now = services.clock.now();
    if (key === undefined || !isUsable(key, now)) {
      services.meter.keyRejected(
        key === undefined ? 'unknown' : key.revokedAt === null ? 'expired' : 'revoked',
      );
      throw unauthenticated();
    }
    const [workspace] = await Promise.all([
      prefetched ?? services.workspaces.get(key.workspaceId),
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

/**
 * Writes once per key and day. A failure is only logged and does not reject the request: operators alone read the day.
 */
async function markUsed(
  services: Services<'apiKeys' | 'clock' | 'log'>,
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
    services.log.warn('The last use of an API key was not stored', { apiKeyId: key.id, error });
  } finally {
    cancel();
  }
}
