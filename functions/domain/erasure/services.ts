import type { ErasedCounts, ErasedPart, Erasure } from '#domain/chats/purge.ts';
import type { Person } from '#domain/workspaces/person.ts';
import type { ChatTraces } from './chat-traces.ts';
import type { ChatUses } from './chat-uses.ts';

export interface ErasureServices {
  chatTraces: ChatTraces;
  chatUses: ChatUses;
  erasures: Erasures;
  personTraces: PersonTraces;
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
