import type { PlatformServices } from '#domain/platform/services.ts';
import type { Person } from '#domain/workspaces/workspace.ts';

export interface Purge {
  workspaceId: string;
  chatId: number;
  deletedAt: string;
}

export interface Erasure extends Person {
  /** Chats that the person creates after this time stay, except those for requests of earlier batches. */
  deletedAt: string;
}

export interface ErasedCounts {
  chats: number;
  ratings: number;
  batchRequests: number;
  /** Number of items that scans of the whole table have found. */
  others: number;
}

export type ErasedPart = { [Name in keyof ErasedCounts]?: number | undefined };

export const nothingErased: ErasedCounts = { chats: 0, ratings: 0, batchRequests: 0, others: 0 };

/** Milliseconds after which a purge or an erasure is due again: its message may be lost. */
export const requeueAfter = 5 * 60_000;

/**
 * The purges and erasures that have not ended. The queue may lose or repeat messages. A new erasure of a person
 * replaces an earlier one.
 */
export interface PurgeOutbox {
  /** False also for an erasure that a newer one of the same person has replaced. */
  has(purge: Purge | Erasure): Promise<boolean>;
  /** Yields the erasures, then, oldest first, the purges of deletions up to a time. `dueAt`: epoch milliseconds. */
  pages(deletedUpTo: string): AsyncIterable<((Purge | Erasure) & { dueAt: number })[]>;
  /**
   * Does nothing if the purge or erasure has ended, or if a newer erasure has replaced this one. `erased` is added to
   * the stored counts of an erasure.
   */
  postpone(purge: Purge | Erasure, dueAt: number, erased?: ErasedPart): Promise<void>;
  remove(purge: Purge | Erasure): Promise<void>;
}

export interface PurgeQueue {
  send(purges: readonly (Purge | Erasure)[]): Promise<void>;
}

const overdueAfter = 60 * 60_000;

const purgesPerRun = 1000;

/**
 * After it has enqueued the maximum, it stops at a page with a purge or an erasure that is not overdue.
 * @returns the number of overdue ones that it has read
 */
export async function requeuePurges(
  services: Pick<PlatformServices, 'clock'> & { purgeOutbox: PurgeOutbox; purgeQueue: PurgeQueue },
): Promise<{ overdue: number }> {
  const { purgeOutbox, purgeQueue } = services;
  const now = services.clock.now().getTime();
  let overdue = 0;
  let sent = 0;
  for await (const page of purgeOutbox.pages(new Date(now - requeueAfter).toISOString())) {
    const overdueOfPage = page.filter(({ deletedAt }) => Date.parse(deletedAt) + overdueAfter <= now).length;
    overdue += overdueOfPage;
    const due = page.filter(({ dueAt }) => dueAt <= now).slice(0, purgesPerRun - sent);
    sent += due.length;
    await purgeQueue.send(due.map(({ dueAt, ...purge }) => purge));
    await Promise.all(due.map((purge) => purgeOutbox.postpone(purge, now + requeueAfter)));
    if (sent === purgesPerRun && overdueOfPage < page.length) break;
  }
  return { overdue };
}
