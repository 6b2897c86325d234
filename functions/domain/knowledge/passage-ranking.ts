import type { Scored } from './knowledge.ts';

export interface PassageRanking {
  /** The best matching passages, best first. Leaves out passages without any match. */
  rank<Passage extends { text: string }>(
    passages: readonly Passage[],
    query: string,
    limit: number,
  ): Promise<Scored<Passage>[]>;
}
