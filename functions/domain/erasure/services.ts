import type { BatchServices } from '#domain/batches/services.ts';
import type { ErasedCounts, ErasedPart, Erasure } from '#domain/chats/purge.ts';
import type { Person } from '#domain/workspaces/person.ts';
import type { ChatTraces } from './chat-traces.ts';

export interface ErasureServices extends BatchServices {
  chatTraces: ChatTraces;
  erasures: Erasures;
  personTraces: PersonTraces;
  retention: Retention;
}

export interface Erasures {
  /**
   * Adds an erasure to the outbox and writes the audit entry, in one transaction. It may be repeated.
   * @param actor of the audit entry
   * @param erased by earlier runs; by default nothing
   */
  request(erasure: Erasure, actor: string, erased?: ErasedPart): Promise<void>;
  /** What all runs of the person's erasure have erased; undefined if none is in the outbox. */
  erased(person: Person): Promise<ErasedCounts | undefined>;
  /** Adds to what the erasure has erased. Does nothing if it has ended. */
  add(erasure: Erasure, erased: ErasedPart): Promise<void>;
}

export interface PersonTraces {
  /**
   * Reads the keys of all items, and erases what is there of the person: also what no list leads to.
   * @param chatIds of the person's deleted chats: whatever else is there of them counts as found
   * @param onFound gets how many were found since the last call
   */
  erase(
    person: Person,
    chatIds: ReadonlySet<number>,
    onFound: (found: number) => Promise<void>,
  ): Promise<{ items: number; found: number }>;
}

/** A walk over the chats of a workspace that deletes unused ones, in the order of their ids. One pass follows another. */
export interface Walk {
  workspaceId: string;
  days: number;
  /** The last chat that the pass has come to; null between two passes. */
  after: number | null;
  /** When it has come so far (ISO 8601); null before the first pass with these days. */
  walkedAt: string | null;
}

export interface Retention {
  /** One of each workspace with retention. */
  walks(): Promise<Walk[]>;
  /**
   * Stores how far the walk is.
   * @returns false, and nothing is stored, if the workspace has other days now, or none
   */
  advance(walk: Walk, after: number | null, at: string): Promise<boolean>;
  /** Those of the chats that requests of open batches are to be sent to. */
  inOpenBatches(workspaceId: string, chatIds: readonly number[]): Promise<ReadonlySet<number>>;
}

/** What a use case needs of them. */
export type Services<Name extends keyof ErasureServices> = Pick<ErasureServices, Name>;
