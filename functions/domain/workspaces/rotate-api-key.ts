import { ServiceError } from '#contract/errors.ts';
import { type ApiKey, isUsable } from './api-key.ts';
import { makeApiKey } from './make-api-key.ts';
import type { Services } from './services.ts';

/**
 * Issues a key that replaces another. The old key stays valid for a while, so that clients can change to the new one.
 * @param input.overlap milliseconds for which the old key stays valid; its expiry never moves to a later time
 * @param input.expiresAt expiry of the new key
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
