import { ServiceError, unauthenticated } from '#contract/errors.ts';
import type { Limits } from '#contract/rate-limits.ts';
import { type ApiKey, hashApiKey, isUsable } from './api-key.ts';
import { dayOf, type KeyOwner } from './usage.ts';
import { limitsOf, type Services } from './workspace.ts';
import { requireWorkspace } from './workspaces.ts';

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

/**
 * @returns `apiKey`: the text of the key, which cannot be read again
 * @throws notFound for an unknown workspace
 */
export async function createApiKey(
  services: Services<'apiKeys' | 'clock' | 'identifiers' | 'workspaces'>,
  input: { workspaceId: string; name: string | null; expiresAt: Date | null },
): Promise<{ key: ApiKey; apiKey: string }> {
  await requireWorkspace(services, input.workspaceId);
  const made = makeApiKey(services, input);
  await services.apiKeys.put(made.key);
  return made;
}

/**
 * @param input.overlap milliseconds after which the old key expires, unless it expires earlier anyway
 * @returns `old`: the old key with its new expiry
 * @throws notFound for an unknown key; badRequest for an expired, revoked or concurrently changed key
 */
export async function rotateApiKey(
  services: Services<'apiKeys' | 'clock' | 'identifiers'>,
  input: { keyId: string; overlap: number; expiresAt: Date | null },
): Promise<{ key: ApiKey; apiKey: string; old: ApiKey }> {
  const old = await services.apiKeys.byId(input.keyId);
  if (old === undefined) throw new ServiceError('notFound', `Key ${input.keyId} not found`);
  const now = services.clock.now();
  if (!isUsable(old, now))
    throw new ServiceError(
      'badRequest',
      `Key ${old.id} has ${old.revokedAt === null ? 'expired' : 'been revoked'}: create a new one`,
    );
  const end = new Date(now.getTime() + input.overlap).toISOString();
  const expiresAt = old.expiresAt !== null && old.expiresAt < end ? old.expiresAt : end;
  const { workspaceId, name } = old;
  const made = makeApiKey(services, { workspaceId, name, expiresAt: input.expiresAt });
  if (!(await services.apiKeys.replace(old, expiresAt, made.key)))
    throw new ServiceError('badRequest', `Key ${old.id} was changed by someone else meanwhile`);
  return { ...made, old: { ...old, expiresAt } };
}

const markTimeoutMilliseconds = 1000;

export interface Caller extends KeyOwner {
  limits: Limits | null;
  /**
   * ISO 8601; null if the key never expires. The route's function must check it, because the gateway may cache the
   * authorizer's response for longer.
   */
  expiresAt: string | null;
}

/**
 * The returned function throws unauthenticated for an unknown, revoked or expired key, and accessDenied if its
 * workspace is disabled (specification, section 5). The keys of a deleted workspace are unknown in the end.
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

/** A failure does not reject the request, because only operators read the day. */
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
