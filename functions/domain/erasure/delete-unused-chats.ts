import { batchLeasePrefix, type Chat } from '#domain/chats/chat.ts';
import type { ChatServices } from '#domain/chats/services.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import type { ChatUse } from './chat-uses.ts';
import type { ErasureServices } from './services.ts';

type Services = Pick<ErasureServices, 'chatUses'> &
  Pick<ChatServices, 'chatDeletion' | 'chats' | 'purgeQueue'> &
  Pick<PlatformServices, 'clock' | 'log'>;

export interface Deleted {
  chats: number;
  /** Workspaces in which the run has failed. */
  failures: number;
}

const dayMilliseconds = 86_400_000;

/** A run starts no page after this time, so that the last ones end before the function's timeout. */
const runMilliseconds = 4 * 60_000;

/**
 * Chats that a run deletes. The queue of purges is shared with deletions by clients. If a purge takes 0.1 s, an estimate, two
 * functions purge the chats of a run within ten minutes.
 */
const chatsPerRun = 10_000;

/** A workspace deletes one page at a time: its transactions change the same items. */
const workspacesAtOnce = 8;

/** As many chats of one agent and one user as one transaction deletes. */
const chatsPerPage = 44;

/**
 * Deletes chats that are unused for longer than their workspace retains them. Workspaces take turns, a page each. The next
 * run goes on with what is left, and a second run concurrent with this one does no harm.
 */
export const deleteUnusedChats = (services: Services) => async (): Promise<Deleted> => {
  const { chatUses, clock, log } = services;
  const start = clock.now().getTime();
  const waiting = (await chatUses.workspaces()).map((workspace) => ({
    workspaceId: workspace.workspaceId,
    pages: pagesOf(services, workspace),
  }));
  // A run may not reach all workspaces, so runs start with different ones.
  waiting.push(...waiting.splice(0, start % Math.max(waiting.length, 1)));
  const deleted: Deleted = { chats: 0, failures: 0 };
  const hasTime = () => deleted.chats < chatsPerRun && clock.now().getTime() < start + runMilliseconds;
  const runNext = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined && hasTime(); next = waiting.shift())
      try {
        const { done, value } = await next.pages.next();
        if (done === true) continue;
        deleted.chats += value;
        waiting.push(next);
      } catch (error) {
        deleted.failures += 1;
        log.error('Unused chats were not deleted', { workspaceId: next.workspaceId, error });
      }
  };
  await Promise.all(Array.from({ length: workspacesAtOnce }, runNext));
  return deleted;
};

/** For each page of chats, yields the number of those that were deleted. */
async function* pagesOf(
  services: Services,
  { workspaceId, days }: { workspaceId: string; days: number },
): AsyncGenerator<number> {
  const end = new Date(services.clock.now().getTime() - days * dayMilliseconds).toISOString();
  // The first chat is usually too young.
  for (let limit = 1; await addChats(services, workspaceId, end, limit); limit = chatsPerPage) yield 0;
  for await (const uses of services.chatUses.before(workspaceId, end, chatsPerPage))
    yield await deletePage(services, workspaceId, end, uses);
}

/** Adds the next chats to the index that were created before the time. @returns whether there may be more */
async function addChats(
  { chatUses }: Services,
  workspaceId: string,
  end: string,
  limit: number,
): Promise<boolean> {
  const next = await chatUses.notAdded(workspaceId, limit);
  const isYoung = ({ chat }: (typeof next)[number]): boolean => chat !== undefined && chat.createdAt >= end;
  const firstYoung = next.findIndex(isYoung);
  const old = firstYoung < 0 ? next : next.slice(0, firstYoung);
  const last = old.at(-1);
  if (last === undefined) return false;
  const uses = old.flatMap(({ chatId, chat }) =>
    chat === undefined ? [] : [{ chatId, lastUse: chat.updatedAt }],
  );
  await chatUses.add(workspaceId, uses, last.chatId);
  return old.length === limit;
}

/** @returns the number of chats that were deleted */
async function deletePage(
  services: Services,
  workspaceId: string,
  end: string,
  uses: readonly ChatUse[],
): Promise<number> {
  const { chatDeletion, chats, chatUses, clock, purgeQueue } = services;
  const found = await Promise.all(
    uses.map(async (use) => ({ use, chat: await chats.get(workspaceId, use.chatId) })),
  );
  const now = clock.now();
  const candidates = found.flatMap(({ chat }) =>
    chat !== undefined && isUnused(chat, end, now.getTime()) ? [chat] : [],
  );
  const inBatches = await chatUses.inOpenBatches(
    workspaceId,
    candidates.map(({ id }) => id),
  );
  const deletedAt = now.toISOString();
  const deleted = await chatDeletion.deleteUnchanged(
    candidates.filter(({ id }) => !inBatches.has(id)),
    deletedAt,
  );
  await purgeQueue.send(deleted.map(({ id }) => ({ workspaceId, chatId: id, deletedAt })));
  const ids = new Set(deleted.map(({ id }) => id));
  await chatUses.replace(
    workspaceId,
    found
      .map(({ use, chat }) => ({
        use,
        lastUse: chat === undefined || ids.has(chat.id) ? null : chat.updatedAt,
      }))
      .filter(({ use, lastUse }) => lastUse !== use.lastUse),
  );
  return deleted.length;
}

/** The lease of a batch lasts until its request has ended. Another one that has expired is that of a function that died. */
const isUnused = ({ lease, updatedAt }: Chat, end: string, now: number): boolean =>
  updatedAt < end && (lease === null || (lease.until <= now && !lease.id.startsWith(batchLeasePrefix)));
