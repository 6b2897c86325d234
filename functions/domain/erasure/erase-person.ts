import type { Chat } from '#domain/chats/chat.ts';
import { type ErasedPart, type Erasure, requeueAfter } from '#domain/chats/purge.ts';
import { hasAllRequests, inGroups, type Services, startRun } from './erasure.ts';

export type EraseServices = Services<
  'batches' | 'chatDeletion' | 'chatPages' | 'clock' | 'feedback' | 'purgeQueue' | 'requestEraser'
>;

/** Called with the counts since its last call. */
export type OnErased = (erased: ErasedPart) => Promise<void>;

const chatsPerPage = 44;

/**
 * May be repeated, also after a crash. Ends early when `hasTime` returns false. The data of deleted chats is erased by
 * their purges.
 * @returns `chats`: as they were before their deletion
 */
export async function erasePerson(
  services: EraseServices,
  erasure: Erasure,
  { onErased = async () => {}, hasTime = () => true, isLast = true }: Partial<Omit<Run, 'erasure'>>,
) {
  const run = { erasure, onErased, hasTime, isLast };
  // Batch requests come first, because requests that have not started could create chats.
  const batchRequests = await eraseRequests(services, run);
  const chats = await deleteChats(services, run);
  const ratings = await removeRatings(services, run);
  if (hasTime()) await services.chatDeletion.removeCounts(erasure);
  return { chats, ratings, batchRequests };
}

interface Run {
  erasure: Erasure;
  onErased: OnErased;
  hasTime: () => boolean;
  isLast: boolean;
}

/**
 * Does nothing if the erasure has ended or was replaced. Until `lastWrite`, work that began before the erasure may
 * store something, so another run follows then.
 */
export async function runErasure(
  services: EraseServices & Services<'purgeOutbox'>,
  erasure: Erasure,
): Promise<void> {
  const { purgeOutbox, purgeQueue } = services;
  if (!(await purgeOutbox.has(erasure))) return;
  const { start, lastWrite, isLast, hasTime } = startRun(services, erasure);
  const { chats, ...counts } = await erasePerson(services, erasure, { hasTime, isLast });
  const erased = { ...counts, chats: chats.length };
  if (!hasTime()) {
    await purgeOutbox.postpone(erasure, start + requeueAfter, erased);
    await purgeQueue.send([erasure]);
  } else if (isLast) await purgeOutbox.remove(erasure);
  else await purgeOutbox.postpone(erasure, lastWrite, erased);
}

async function eraseRequests(
  services: EraseServices,
  { erasure, onErased, hasTime, isLast }: Run,
): Promise<number> {
  const { requestEraser } = services;
  let erased = 0;
  for await (const page of requestEraser.ofUser(erasure))
    for (const { batchId: id, createdAt, requestIndexes } of page) {
      if (createdAt > erasure.deletedAt || !hasTime()) return erased;
      const batch = { workspaceId: erasure.workspaceId, id, createdAt };
      const areStored = isLast || (await hasAllRequests(services, batch));
      await inGroups(requestIndexes, (requestIndex) => requestEraser.erase(batch, requestIndex));
      if (!areStored) continue;
      await requestEraser.forget(batch, erasure);
      erased += requestIndexes.length;
      await onErased({ batchRequests: requestIndexes.length });
    }
  return erased;
}

async function deleteChats(services: EraseServices, { erasure, onErased, hasTime }: Run): Promise<Chat[]> {
  const { workspaceId, externalUserId } = erasure;
  const { chatDeletion, chatPages, clock, purgeQueue } = services;
  const deleted: Chat[] = [];
  let skipped = 0;
  for (;;) {
    const page = await chatPages.page(
      { workspaceId, externalUserId },
      { limit: chatsPerPage, offset: skipped, ascending: true },
    );
    if (page.chats.length === 0 || !hasTime()) return deleted;
    const isCovered = await Promise.all(page.chats.map((chat) => isOfErasure(services, erasure, chat)));
    const covered = page.chats.filter((_, index) => isCovered[index]);
    skipped += page.chats.length - covered.length;
    const deletedAt = clock.now().toISOString();
    const chats = await chatDeletion.delete(covered, deletedAt);
    if (chats.length > 0) await onErased({ chats: chats.length });
    await purgeQueue.send(chats.map(({ id }) => ({ workspaceId, chatId: id, deletedAt })));
    deleted.push(...chats);
  }
}

async function isOfErasure(
  { batches }: EraseServices,
  { workspaceId, deletedAt }: Erasure,
  { createdAt, batchId }: Chat,
): Promise<boolean> {
  if (createdAt <= deletedAt) return true;
  const batch = batchId === undefined ? undefined : await batches.get(workspaceId, batchId);
  return batch !== undefined && batch.createdAt <= deletedAt;
}

async function removeRatings(services: EraseServices, { erasure, onErased, hasTime }: Run): Promise<number> {
  const { workspaceId, externalUserId, deletedAt } = erasure;
  let removed = 0;
  for await (const page of services.feedback.ofUser(erasure)) {
    if (!hasTime()) return removed;
    const covered = page.filter(({ createdAt }) => createdAt <= deletedAt);
    for (const { chatId, position } of covered)
      await services.feedback.remove({ workspaceId, id: chatId }, position, externalUserId);
    removed += covered.length;
    if (covered.length > 0) await onErased({ ratings: covered.length });
  }
  return removed;
}
