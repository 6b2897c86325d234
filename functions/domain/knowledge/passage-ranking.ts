import type { Passage, Scored } from './knowledge.ts';

export interface SearchedText {
  text: string;
  /** Where each page starts, in ascending order. */
  pageOffsets?: readonly number[];
}

export interface PassageOfText extends Passage {
  /** Which of the texts it is of. */
  textIndex: number;
}

export interface PassageRanking {
  /** The best matching passages of the texts, best first. Leaves out passages without any match. */
  rank(
    workspaceId: string,
    search: { texts: readonly SearchedText[]; query: string; limit: number },
    signal: AbortSignal,
  ): Promise<Scored<PassageOfText>[]>;
}
