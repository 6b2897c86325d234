import type { Chat } from '#domain/chats/chat.ts';
import {
  type ErasedCounts,
  type Erasure,
  nothingErased,
  type Purge,
  type PurgeQueue,
} from '#domain/chats/purge.ts';
import type { ChatServices } from '#domain/chats/services.ts';
import { sumOf } from '#domain/platform/services.ts';
import type { Person } from '#domain/workspaces/workspace.ts';
import { type EraseServices, erasePerson, type OnErased } from './erase-person.ts';
import { type ErasureServices, eraseChat, inGroups, purgeChat } from './erasure.ts';

export interface Progress {
  onStep(step: string): void;
  /** Called with what has been erased until now, as in `Report.erased`. */
  onErased(erased: ErasedCounts): void;
}

const maxRuns = 5;

/** In milliseconds, for differences between clocks. */
const leaseMargin = 2000;

type Services = Omit<EraseServices, 'purgeQueue'> &
  Omit<Parameters<typeof purgeChat>[0], 'purgeQueue'> &
  Pick<ErasureServices, 'erasures' | 'personTraces' | 'workspaces'> & {
    sleepUntil: (time: number) => Promise<void>;
  };

/**
 * It may be repeated after a failure or a crash.
 * @throws Error if the scan of each run has found something
 */
export async function eraseCompletely(services: Services, person: Person, actor: string, progress: Progress) {
  const now = (): string => services.clock.now().toISOString();
  const purger = new Purger(services);
  const erasure: Erasure = { ...person, deletedAt: now() };
  const erasedBefore = (await services.erasures.erased(person)) ?? nothingErased;
  let erased = erasedBefore;
  progress.onErased(erased);
  const onErased: OnErased = async (counts) => {
    erased = sumOf(erased, counts);
    progress.onErased(erased);
    await services.erasures.add(erasure, counts);
  };
  await services.erasures.request(erasure, actor, erasedBefore);
  // An erasure by a client does not do this: the whitelist says whom the operator allows.
  if (await services.workspaces.isListed(person.workspaceId, person.externalUserId))
    await services.workspaces.removeFromWhitelist(person.workspaceId, [person.externalUserId]);
  // These chats were deleted before, perhaps by a run of this command that was killed.
  await purger.send(await pendingPurges(services, erasure));
  let itemsScanned = 0;
  for (let run = 1; run <= maxRuns; run += 1) {
    progress.onStep('Erasing');
    if (run > 1) await purger.deleteData(purger.purges.keys());
    const { chats } = await erasePerson(
      { ...services, purgeQueue: purger },
      { ...person, deletedAt: now() },
      { onErased },
    );
    await deleteAfterLeases(services, purger, chats, progress);
    progress.onStep('Reading the keys of all items');
    const onFound = (others: number) => onErased({ others });
    const { items, found } = await services.personTraces.erase(
      person,
      new Set(purger.purges.keys()),
      onFound,
    );
    itemsScanned += items;
    if (found > 0) continue;
    await services.purgeOutbox.remove(erasure);
    return { erased, erasedBefore, itemsScanned };
  }
  throw new Error(`The user was active during all ${maxRuns} runs: stop its requests, and run this again`);
}

export type Report = Awaited<ReturnType<typeof eraseCompletely>>;

/** Runs the purges of chats itself instead of sending them to the queue. */
class Purger implements PurgeQueue {
  /** By the ids of their chats, which may be of other users. */
  readonly purges = new Map<number, Purge>();
  private readonly services: Services;

  constructor(services: Services) {
    this.services = services;
  }

  async send(purges: readonly (Purge | Erasure)[]): Promise<void> {
    const ofChats = purges.filter((purge): purge is Purge => 'chatId' in purge);
    for (const purge of ofChats) this.purges.set(purge.chatId, purge);
    await inGroups(ofChats, (purge) => purgeChat({ ...this.services, purgeQueue: this }, purge));
  }

  async deleteData(chatIds: Iterable<number>): Promise<void> {
    const purges = [...chatIds].flatMap((id) => this.purges.get(id) ?? []);
    await inGroups(purges, (purge) => eraseChat(this.services, purge, { isLast: true, hasTime: () => true }));
  }
}

async function pendingPurges(
  { purgeOutbox }: Pick<ChatServices, 'purgeOutbox'>,
  { workspaceId, deletedAt }: Erasure,
): Promise<Purge[]> {
  const pending: Purge[] = [];
  for await (const page of purgeOutbox.pages(deletedAt))
    for (const { dueAt, ...purge } of page)
      if (purge.workspaceId === workspaceId && 'chatId' in purge) pending.push(purge);
  return pending;
}

/** Until its lease ends, a reply may store data of a deleted chat. It cannot renew the lease. */
async function deleteAfterLeases(
  { sleepUntil }: Services,
  purger: Purger,
  chats: readonly Chat[],
  progress: Progress,
): Promise<void> {
  const inUse = chats.filter(({ lease }) => lease !== null);
  if (inUse.length === 0) return;
  const end = Math.max(...inUse.map(({ lease }) => lease?.until ?? 0));
  progress.onStep(`Waiting for ${inUse.length} replies in progress`);
  await sleepUntil(end + leaseMargin);
  await purger.deleteData(inUse.map(({ id }) => id));
}
