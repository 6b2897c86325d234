import MiniSearch, { type Options, type SearchOptions } from 'minisearch';
import type { PassageRanking } from '#domain/ports/passage-ranking.ts';
import { termsOf } from './terms.ts';

/** What a passage is to the index. */
export interface IndexedPassage {
  id: number;
  text: string;
}

/** BM25+ over the terms of the passages. An index that is stored is read with the same options. */
export const indexOptions: Options<IndexedPassage> = {
  fields: ['text'],
  tokenize: termsOf,
  processTerm: (term) => term,
};

/** Shorter terms are like too many others. */
const leastPrefix = 4;
const leastFuzzy = 6;

/**
 * A passage needs one of the terms. Longer words that begin with a term, and those that differ in one letter of five,
 * count less: `holiday` finds `holidays`, and the other way round. A number is itself alone.
 */
export const searchOptions: SearchOptions = {
  prefix: (term) => term.length >= leastPrefix && !/\p{N}/u.test(term),
  fuzzy: (term) => (term.length >= leastFuzzy && !/\p{N}/u.test(term) ? 0.2 : false),
};

export const newIndex = (): MiniSearch<IndexedPassage> => new MiniSearch(indexOptions);

/** Ranks texts that are not kept in an index: it makes one on the fly. */
export const passageRanking: PassageRanking = {
  async rank(passages, query, most) {
    const index = newIndex();
    // Leaves the thread to others after every so many: of four megabytes all take two seconds.
    await index.addAllAsync(
      passages.map(({ text }, id) => ({ id, text })),
      { chunkSize: 100 },
    );
    return index
      .search(query, searchOptions)
      .slice(0, most)
      .map(({ id, score }) => ({ found: passages[id as number] as (typeof passages)[number], score }));
  },
};
