import type { Erasure } from '#domain/chats/purge.ts';
import type { Person } from '#domain/workspaces/person.ts';
import type { Services } from './services.ts';

/**
 * Requests the erasure of a person. It starts at once, or when the reconciler enqueues it. A repeated request also erases
 * what the person has done since.
 */
export async function requestErasure(
  services: Services<'clock' | 'erasures' | 'log' | 'purgeQueue'>,
  { workspaceId, externalUserId }: Person,
  actor: string,
): Promise<void> {
  const erasure: Erasure = { workspaceId, externalUserId, deletedAt: services.clock.now().toISOString() };
  await services.erasures.request(erasure, actor);
  try {
    await services.purgeQueue.send([erasure]);
  } catch (error) {
    services.log.warn('An erasure was not enqueued: the reconciler will do so', { error });
  }
}
