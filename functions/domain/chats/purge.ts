import type { Person } from '#domain/workspaces/workspace.ts';

/** A deleted chat, whose data is to be purged. */
export interface Purge {
  workspaceId: string;
  chatId: number;
  /** ISO 8601. */
  deletedAt: string;
}

/** A person whose data is to be erased. */
export interface Erasure extends Person {
  /**
   * ISO 8601. Chats and batches that the person creates after this time stay, except chats for requests of earlier
   * batches.
   */
  deletedAt: string;
}

/** Counts of what has been erased of a person. */
export interface ErasedCounts {
  chats: number;
  ratings: number;
  batchRequests: number;
  /** What scans of all keys have found. */
  others: number;
}

/** Some of the counts. A count that is missing is 0. */
export type ErasedPart = { [Name in keyof ErasedCounts]?: number | undefined };

export const nothingErased: ErasedCounts = { chats: 0, ratings: 0, batchRequests: 0, others: 0 };

/** Milliseconds after which a purge that has neither ended nor been postponed is due again: its message may be lost. */
export const requeueAfter = 5 * 60_000;

/**
 * The purges and erasures that have not ended. The transaction that deletes a chat adds its purge. The queue is less
 * reliable: it may lose or repeat messages. A person has one erasure at a time, and a new one replaces it.
 */
export interface PurgeOutbox {
  /** Whether the purge has not ended. False also for an erasure that a newer one of the same person has replaced. */
  has(purge: Purge | Erasure): Promise<boolean>;
  /**
   * Yields all erasures, then the purges of deletions up to a time (ISO 8601), oldest first, in pages.
   * @returns `dueAt` in milliseconds since the epoch
   */
  pages(deletedUpTo: string): AsyncIterable<((Purge | Erasure) & { dueAt: number })[]>;
  /**
   * Sets the next due time of the purge. Does nothing if the purge has ended.
   * @param dueAt milliseconds since the epoch
   * @param erased is added to the stored counts of an erasure
   */
  postpone(purge: Purge | Erasure, dueAt: number, erased?: ErasedPart): Promise<void>;
  /** Ends the purge: removes it from the outbox. Does nothing if it has ended before. */
  remove(purge: Purge | Erasure): Promise<void>;
}

export interface PurgeQueue {
  send(purges: readonly (Purge | Erasure)[]): Promise<void>;
}
