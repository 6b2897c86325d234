import type { Scored } from './knowledge.ts';

export interface PassageRanking {
  /** The texts that answer a query best, best first; none that has nothing of it. */
  rank<Passage extends { text: string }>(
    passages: readonly Passage[],
    query: string,
    most: number,
  ): Promise<Scored<Passage>[]>;
}
