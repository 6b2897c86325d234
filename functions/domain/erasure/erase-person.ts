import type { Batch } from '#domain/batches/batch.ts';
import type { BatchServices } from '#domain/batches/services.ts';
import type { Chat } from '#domain/chats/chat.ts';
import type { ErasedPart, Erasure } from '#domain/chats/purge.ts';
import type { ChatServices } from '#domain/chats/services.ts';
import { lastWriteAfter } from '#domain/platform/last-write.ts';
import type { PlatformServices } from '#domain/platform/services.ts';

export type EraseServices = Pick<BatchServices, 'batches' | 'requestEraser'> &
  Pick<ChatServices, 'chatDeletion' | 'chatPages' | 'feedback' | 'purgeQueue'> &
  Pick<PlatformServices, 'clock'>;

export interface Erased {
  chats: Chat[];
  ratings: number;
  batchRequests: number;
}

/** Gets what has been erased since its last call. */
export type OnErased = (erased: ErasedPart) => Promise<void>;

/** As many chats of one agent and one user as one transaction deletes. */
const chatsPerPage = 44;
const batchesPerPage = 20;

/** A whole batch, of at most 6 MB. In parts, its reads would wait for each other, and a run has five minutes. */
const requestsPerRead = 1000;

/** Texts of requests are stored for 30 days after the batch expires. Removal by `ttl` may be some days late. */
const textsStoredAfterExpiry = 40 * 24 * 60 * 60_000;

/**
 * Erases what a person has done until the time of the erasure: the texts of batch requests, the chats with all that hangs
 * on them, ratings in chats of nobody, and lists. It may be repeated, and goes on after a crash.
 */
export const erasePerson =
  (services: EraseServices) =>
  async (erasure: Erasure, onErased: OnErased = async () => {}): Promise<Erased> => {
    // First, because requests that have not started would create chats.
    const batchRequests = await eraseRequests(services, erasure, onErased);
    const chats = await deleteChats(services, erasure, onErased);
    const ratings = await removeRatings(services, erasure, onErased);
    await services.chatDeletion.removeCounts(erasure);
    return { chats, ratings, batchRequests };
  };

/**
 * Runs an erasure of the outbox, at once and after `lastWriteAfter`, as a purge: until then, a request of a batch that was
 * being started may have created a chat. The run that starts after that time ends the erasure.
 */
export const runErasure =
  (services: EraseServices & Pick<ChatServices, 'purgeOutbox'>) =>
  async (erasure: Erasure): Promise<void> => {
    const { clock, purgeOutbox } = services;
    if (!(await purgeOutbox.has(erasure))) return;
    const lastWrite = Date.parse(erasure.deletedAt) + lastWriteAfter;
    const isLast = clock.now().getTime() >= lastWrite;
    const { chats, ...counts } = await erasePerson(services)(erasure);
    const erased = { ...counts, chats: chats.length };
    await (isLast ? purgeOutbox.remove(erasure) : purgeOutbox.postpone(erasure, lastWrite, erased));
  };

async function eraseRequests(services: EraseServices, erasure: Erasure, onErased: OnErased): Promise<number> {
  const now = services.clock.now().getTime();
  let erased = 0;
  for (let offset = 0; ; offset += batchesPerPage) {
    const { batches } = await services.batches.page(
      erasure.workspaceId,
      {},
      { limit: batchesPerPage, offset },
    );
    for (const batch of batches) {
      if (Date.parse(batch.expiresAt) + textsStoredAfterExpiry < now) return erased;
      if (batch.createdAt > erasure.deletedAt) continue;
      const ofBatch = await eraseRequestsOf(services, batch, erasure);
      erased += ofBatch;
      if (ofBatch > 0) await onErased({ batchRequests: ofBatch });
    }
    if (batches.length < batchesPerPage) return erased;
  }
}

async function eraseRequestsOf(services: EraseServices, batch: Batch, erasure: Erasure): Promise<number> {
  let erased = 0;
  for (let first = 0; first < batch.total; first += requestsPerRead) {
    const length = Math.min(requestsPerRead, batch.total - first);
    const indexes = Array.from({ length }, (_, ahead) => first + ahead);
    const requests = await services.batches.requests(batch, indexes);
    for (const { requestIndex, externalUserId } of requests) {
      if (externalUserId !== erasure.externalUserId) continue;
      await services.requestEraser.erase(batch, requestIndex);
      erased += 1;
    }
  }
  return erased;
}

/** @returns the chats as they were before */
async function deleteChats(services: EraseServices, erasure: Erasure, onErased: OnErased): Promise<Chat[]> {
  const { workspaceId, externalUserId } = erasure;
  const { chatDeletion, chatPages, clock, purgeQueue } = services;
  const deleted: Chat[] = [];
  let skipped = 0;
  for (;;) {
    const page = await chatPages.page(
      { workspaceId, externalUserId },
      { limit: chatsPerPage, offset: skipped, ascending: true },
    );
    if (page.chats.length === 0) return deleted;
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

/** Whether the chat existed at the time of the erasure, or was created for a request of a batch that existed then. */
async function isOfErasure(
  { batches }: EraseServices,
  { workspaceId, deletedAt }: Erasure,
  { createdAt, batchId }: Chat,
): Promise<boolean> {
  if (createdAt <= deletedAt) return true;
  const batch = batchId === undefined ? undefined : await batches.get(workspaceId, batchId);
  return batch !== undefined && batch.createdAt <= deletedAt;
}

async function removeRatings(services: EraseServices, erasure: Erasure, onErased: OnErased): Promise<number> {
  const { workspaceId, externalUserId, deletedAt } = erasure;
  let removed = 0;
  for await (const page of services.feedback.ofUser(erasure)) {
    const covered = page.filter(({ createdAt }) => createdAt <= deletedAt);
    for (const { chatId, position } of covered)
      await services.feedback.remove({ workspaceId, id: chatId }, position, externalUserId);
    removed += covered.length;
    if (covered.length > 0) await onErased({ ratings: covered.length });
  }
  return removed;
}
