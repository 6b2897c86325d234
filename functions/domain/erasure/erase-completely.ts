import type { Chat } from '#domain/chats/chat.ts';
import type { Person } from '#domain/chats/feedback-store.ts';
import type { Erasure, Purge, PurgeQueue } from '#domain/chats/purge.ts';
import { purgeChat } from '#domain/chats/purge-chat.ts';
import type { ChatServices } from '#domain/chats/services.ts';
import { type EraseServices, erasePerson } from './erase-person.ts';
import type { ErasureServices } from './services.ts';

export interface Report {
  chats: number;
  ratings: number;
  batchRequests: number;
  /** What only the scan found. */
  others: number;
  itemsScanned: number;
}

/** A person who goes on to chat meanwhile makes further runs necessary. */
const maxRuns = 5;

/** Milliseconds after the end of a lease, for differences of clocks. */
const leaseMargin = 2000;

/**
 * Erases a person at once, for an operator. It waits until no reply in progress can store anything, and ends with a scan of
 * all keys that finds nothing. It may be repeated after a crash.
 * @param progress gets what is done next
 * @throws Error if the person has been active all the time
 */
export const eraseCompletely =
  (
    services: Omit<EraseServices, 'purgeQueue'> &
      Pick<ChatServices, 'chatData' | 'purgeOutbox'> &
      ErasureServices & { sleepUntil: (time: number) => Promise<void> },
  ) =>
  async (person: Person, actor: string, progress: (step: string) => void): Promise<Report> => {
    const { clock, purgeOutbox } = services;
    const now = (): string => clock.now().toISOString();
    const purge = purgeChat(services);
    const purgeQueue: PurgeQueue = {
      send: async (purges) => {
        for (const each of purges) await purge(each as Purge);
      },
    };
    const erasure: Erasure = { ...person, deletedAt: now() };
    await services.erasures.request(erasure, actor);
    // Chats that were deleted before, also by a run of this command that was killed.
    const pending = await pendingPurges(services, person);
    await purgeQueue.send(pending);
    const chatIds = new Set(pending.map(({ chatId }) => chatId));
    const report: Report = { chats: 0, ratings: 0, batchRequests: 0, others: 0, itemsScanned: 0 };
    for (let run = 1; run <= maxRuns; run += 1) {
      progress('Erasing');
      if (run > 1) await deleteData(services, person, chatIds);
      const erased = await erasePerson({ ...services, purgeQueue })({ ...person, deletedAt: now() });
      for (const { id } of erased.chats) chatIds.add(id);
      await purgeAfterLeases(services, erased.chats, progress);
      progress('Reading the keys of all items');
      const { items, found } = await services.personTraces.erase(person, chatIds);
      report.chats += erased.chats.length;
      report.ratings += erased.ratings;
      report.batchRequests += erased.batchRequests;
      report.itemsScanned += items;
      report.others += found;
      if (found > 0) continue;
      await purgeOutbox.remove(erasure);
      return report;
    }
    throw new Error(`The user was active during all ${maxRuns} runs: stop its requests, and run this again`);
  };

async function deleteData(
  { chatData }: Pick<ChatServices, 'chatData'>,
  { workspaceId }: Pick<Person, 'workspaceId'>,
  chatIds: Iterable<number>,
): Promise<void> {
  for (const id of chatIds) await chatData.delete({ workspaceId, id });
}

async function pendingPurges(
  { purgeOutbox }: Pick<ChatServices, 'purgeOutbox'>,
  { workspaceId }: Person,
): Promise<Purge[]> {
  const pending: Purge[] = [];
  for await (const page of purgeOutbox.pages())
    for (const { dueAt, ...purge } of page)
      if (purge.workspaceId === workspaceId && 'chatId' in purge) pending.push(purge);
  return pending;
}

/** A reply in progress stops when its lease has ended: it cannot renew it. What it stored until then is purged. */
async function purgeAfterLeases(
  services: Pick<ChatServices, 'chatData'> & { sleepUntil: (time: number) => Promise<void> },
  chats: readonly Chat[],
  progress: (step: string) => void,
): Promise<void> {
  const inUse = chats.filter(({ lease }) => lease !== null);
  if (inUse.length === 0) return;
  const end = Math.max(...inUse.map(({ lease }) => lease?.until ?? 0));
  progress(`Waiting for ${inUse.length} replies in progress`);
  await services.sleepUntil(end + leaseMargin);
  for (const chat of inUse) await services.chatData.delete(chat);
}
