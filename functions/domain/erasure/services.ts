import type { Erasure } from '#domain/chats/purge.ts';
import type { Person } from '#domain/workspaces/person.ts';
import type { ChatUses } from './chat-uses.ts';

export interface ErasureServices {
  chatUses: ChatUses;
  erasures: Erasures;
  personTraces: PersonTraces;
}

export interface Erasures {
  /**
   * Adds an erasure to the outbox and writes the audit entry, in one transaction. It may be repeated.
   * @param actor of the audit entry
   */
  request(erasure: Erasure, actor: string): Promise<void>;
}

export interface PersonTraces {
  /**
   * Reads the keys of all items, and erases what is there of the person: also what no list leads to.
   * @param chatIds of the person's deleted chats: whatever else is there of them counts as found
   */
  erase(person: Person, chatIds: ReadonlySet<number>): Promise<{ items: number; found: number }>;
}
