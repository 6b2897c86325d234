import { batchLeasePrefix, type Chat } from '#domain/chats/chat.ts';
import type { ErasureServices, Walk } from './erasure.ts';

type Services = Pick<
  ErasureServices,
  'chatDeletion' | 'chatPages' | 'clock' | 'log' | 'purgeQueue' | 'retention'
>;

export interface Deleted {
  chats: number;
  /** Workspaces in which the run has failed. */
  failures: number;
}

const dayMilliseconds = 86_400_000;

/** From the end of a pass to the next one. Runs come every hour, and not to the second, so it is an hour less than a day. */
const passInterval = 23 * 3_600_000;

/** A run starts no page after this time, so that the last ones end before the function's timeout. */
const runMilliseconds = 4 * 60_000;

/**
 * Chats that a run deletes. The queue of purges is shared with deletions by clients. If a purge takes 0.1 s, an estimate, two
 * functions purge the chats of a run within ten minutes.
 */
const chatsPerRun = 10_000;

/** A workspace deletes one page at a time: its transactions change the same items. */
const workspacesAtOnce = 8;

/** Each page reads the counts of the list: with a million chats, 11 read units more than these. */
const chatsPerPage = 250;

/**
 * Deletes chats that are unused for longer than their workspace retains them. Once a day, it walks over the chats of each
 * workspace that are old enough: those are the chats that are in use, and what is to be deleted. Workspaces take turns, a
 * page each, and those come first that have waited longest. The next run goes on where this one ends, and a second run
 * concurrent with this one does no harm.
 */
export async function deleteUnusedChats(services: Services): Promise<Deleted> {
  const { clock, log, retention } = services;
  const start = clock.now().getTime();
  const isDue = ({ after, walkedAt }: Walk): boolean =>
    after !== null || walkedAt === null || Date.parse(walkedAt) + passInterval <= start;
  const waiting = (await retention.walks())
    .filter(isDue)
    .sort((one, other) => ((one.walkedAt ?? '') < (other.walkedAt ?? '') ? -1 : 1));
  const deleted: Deleted = { chats: 0, failures: 0 };
  const hasTime = () => deleted.chats < chatsPerRun && clock.now().getTime() < start + runMilliseconds;
  const runNext = async (): Promise<void> => {
    for (let walk = waiting.shift(); walk !== undefined && hasTime(); walk = waiting.shift())
      try {
        const page = await walkPage(services, walk);
        deleted.chats += page.deleted;
        if (page.after !== null) waiting.push({ ...walk, after: page.after });
      } catch (error) {
        deleted.failures += 1;
        log.error('Unused chats were not deleted', { workspaceId: walk.workspaceId, error });
      }
  };
  await Promise.all(Array.from({ length: workspacesAtOnce }, runNext));
  return deleted;
}

/** @returns the chat after which the walk goes on; null if its pass is over */
async function walkPage(services: Services, walk: Walk): Promise<{ deleted: number; after: number | null }> {
  const { workspaceId, days } = walk;
  const now = services.clock.now();
  const end = new Date(now.getTime() - days * dayMilliseconds).toISOString();
  const page = {
    // The first chat is usually too young.
    limit: walk.after === null ? 1 : chatsPerPage,
    ...{ offset: 0, ascending: true, cursor: { isAfter: true, id: walk.after ?? 0, offset: 0 } },
  };
  const { chats, ends } = await services.chatPages.page({ workspaceId }, page);
  const deleted = await deleteUnused(
    services,
    chats.filter((chat) => isUnused(chat, end, now.getTime())),
  );
  // Times of creation rise with the ids.
  const isOver = !ends.hasMore || chats.some(({ createdAt }) => createdAt >= end);
  const after = isOver ? null : ends.last;
  // Last, so that the next run finds what this one has not deleted.
  const isSame = await services.retention.advance(walk, after, services.clock.now().toISOString());
  return { deleted, after: isSame ? after : null };
}

/** @returns the number of chats that were deleted; those stay that are used meanwhile */
async function deleteUnused(services: Services, unused: readonly Chat[]): Promise<number> {
  const { chatDeletion, clock, purgeQueue, retention } = services;
  const [first] = unused;
  if (first === undefined) return 0;
  const inBatches = await retention.inOpenBatches(
    first.workspaceId,
    unused.map(({ id }) => id),
  );
  const deletedAt = clock.now().toISOString();
  const deleted = await chatDeletion.deleteUnchanged(
    unused.filter(({ id }) => !inBatches.has(id)),
    deletedAt,
  );
  await purgeQueue.send(deleted.map(({ workspaceId, id }) => ({ workspaceId, chatId: id, deletedAt })));
  return deleted.length;
}

/** The lease of a batch lasts until its request has ended. Another one that has expired is that of a function that died. */
const isUnused = ({ lease, updatedAt }: Chat, end: string, now: number): boolean =>
  updatedAt < end && (lease === null || (lease.until <= now && !lease.id.startsWith(batchLeasePrefix)));
