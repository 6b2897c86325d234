import { batchLeasePrefix, type Chat } from '#domain/chats/chat.ts';
import type { Services, Walk } from './erasure.ts';

type RunServices = Services<'chatDeletion' | 'chatPages' | 'clock' | 'log' | 'purgeQueue' | 'retention'>;

const dayMilliseconds = 86_400_000;

/** From the end of a workspace's pass to its next. Runs are hourly: with 24 hours, one could be just too early. */
const passInterval = 23 * 3_600_000;

/** A run starts no page after this time, so that its last pages end before the function's timeout. */
const runMilliseconds = 4 * 60_000;

/** A run starts no page after so many deletions: purges of chats that clients delete wait in the same queue. */
const chatsPerRun = 10_000;

/** Each workspace deletes one page at a time, because the transactions of a workspace change the same items. */
const workspacesAtOnce = 8;

const chatsPerPage = 250;

/**
 * Deletes chats that have been unused for longer than their workspace retains them. The next run continues where this
 * one ends, and repeats what has failed. A concurrent second run does no harm.
 */
export async function deleteUnusedChats(services: RunServices) {
  const { clock, log, retention } = services;
  const start = clock.now().getTime();
  const isDue = ({ after, walkedAt }: Walk): boolean =>
    after !== null || walkedAt === null || Date.parse(walkedAt) + passInterval <= start;
  const waiting = (await retention.walks())
    .filter(isDue)
    .sort((one, other) => ((one.walkedAt ?? '') < (other.walkedAt ?? '') ? -1 : 1));
  const deleted = { chats: 0, failures: 0 };
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

async function walkPage(
  services: RunServices,
  walk: Walk,
): Promise<{ deleted: number; after: number | null }> {
  const { workspaceId, days } = walk;
  const now = services.clock.now();
  const end = new Date(now.getTime() - days * dayMilliseconds).toISOString();
  const page = {
    // A pass first reads one chat: even the oldest may be too young to be deleted.
    limit: walk.after === null ? 1 : chatsPerPage,
    ...{ offset: 0, ascending: true, cursor: { isAfter: true, id: walk.after ?? 0, offset: 0 } },
  };
  const { chats, ends } = await services.chatPages.page({ workspaceId }, page);
  const deleted = await deleteUnused(
    services,
    chats.filter((chat) => isUnused(chat, end, now.getTime())),
  );
  // Chats with higher ids were created later, except concurrent creations.
  const isOver = !ends.hasMore || chats.some(({ createdAt }) => createdAt >= end);
  const after = isOver ? null : ends.last;
  // This comes last, so that after a failure the next run finds the chats that this one has not deleted.
  const isSame = await services.retention.advance(walk, after, services.clock.now().toISOString());
  return { deleted, after: isSame ? after : null };
}

async function deleteUnused(services: RunServices, unused: readonly Chat[]): Promise<number> {
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

/** The chat lease of a batch request counts until it is released, any other lease until it expires. */
const isUnused = ({ lease, updatedAt }: Chat, end: string, now: number): boolean =>
  updatedAt < end && (lease === null || (lease.until <= now && !lease.id.startsWith(batchLeasePrefix)));
