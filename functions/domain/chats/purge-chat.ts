import { lastWriteAfter } from '#domain/platform/last-write.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import type { Purge, Purged } from './purge.ts';
import type { ChatServices } from './services.ts';

/**
 * Deletes the data of a deleted chat. It runs at once, and again after `lastWriteAfter`: a reply that was in progress, or a
 * send that had read the chat before, may have stored something meanwhile. The run that starts after that time ends the
 * purge.
 */
export const purgeChat =
  (services: Pick<ChatServices, 'chatData' | 'purgeOutbox'> & Pick<PlatformServices, 'clock'>) =>
  async (purge: Purge): Promise<Purged> => {
    const { chatData, clock, purgeOutbox } = services;
    if (!(await purgeOutbox.has(purge))) return { retainedFiles: [] };
    const lastWrite = Date.parse(purge.deletedAt) + lastWriteAfter;
    const isLast = clock.now().getTime() >= lastWrite;
    const { workspaceId, chatId, deletedAt } = purge;
    const purged = await chatData.delete({ workspaceId, id: chatId, deletedAt }, { isLast });
    await (isLast ? purgeOutbox.remove(purge) : purgeOutbox.postpone(purge, lastWrite));
    return purged;
  };
