import MiniSearch, { type Options, type SearchOptions } from 'minisearch';
import type { PassageRanking } from '#domain/knowledge/passage-ranking.ts';
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
  prefix: (term) => hasPrefix(term),
  fuzzy: (term) => (isFuzzy(term) ? fuzziness : false),
};

const fuzziness = 0.2;
const hasPrefix = (term: string): boolean => term.length >= leastPrefix && !/\p{N}/u.test(term);
const isFuzzy = (term: string): boolean => term.length >= leastFuzzy && !/\p{N}/u.test(term);

export const newIndex = (): MiniSearch<IndexedPassage> => new MiniSearch(indexOptions);

/**
 * Tells of each term whether a search for these could find it. The others count for nothing but a passage's length, which
 * MiniSearch takes before; without them an index of four million characters has some megabytes, with them hundreds.
 */
function termFilter(wanted: readonly string[]): (term: string) => boolean {
  const searched = [...new Set(wanted)].map((term) => ({
    term,
    prefix: hasPrefix(term),
    edits: isFuzzy(term) ? Math.ceil(term.length * fuzziness) : 0,
    letters: lettersOf(term),
  }));
  return (term) => {
    const letters = lettersOf(term);
    return searched.some(
      (other) =>
        term === other.term ||
        (other.prefix && term.startsWith(other.term)) ||
        // An edit changes the length by one at most, and the set of letters by two.
        (Math.abs(term.length - other.term.length) <= other.edits &&
          bitsOf(letters ^ other.letters) <= 2 * other.edits),
    );
  };
}

/** Which letters a term has, as bits: some share one. */
function lettersOf(term: string): number {
  let letters = 0;
  for (let index = 0; index < term.length; index += 1) letters |= 1 << (term.charCodeAt(index) % 32);
  return letters;
}

function bitsOf(set: number): number {
  let count = 0;
  for (let left = set; left !== 0; left &= left - 1) count += 1;
  return count;
}

/** Ranks texts that are not kept in an index: it makes one on the fly. */
export const passageRanking: PassageRanking = {
  async rank(passages, query, most) {
    const mayBeFound = termFilter(termsOf(query));
    const index = new MiniSearch<IndexedPassage>({
      ...indexOptions,
      processTerm: (term) => mayBeFound(term) && term,
    });
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
