import MiniSearch, { type Options, type SearchOptions } from 'minisearch';
import type { PassageRanking } from '#domain/knowledge/passage-ranking.ts';
import { termsOf } from './terms.ts';

export interface IndexedPassage {
  id: number;
  text: string;
}

/** BM25+ over the terms of the passages. A stored index must be read with the same options. */
export const indexOptions: Options<IndexedPassage> = {
  fields: ['text'],
  tokenize: termsOf,
  processTerm: (term) => term,
};

/** Shorter terms would match too many others. */
const minPrefixCharacters = 4;
const minFuzzyCharacters = 6;

/**
 * A passage matches if it has at least one of the terms. Longer words that start with a term, and words that differ in
 * one letter of five, count less: `holiday` finds `holidays`, and the other way round. A term with a digit matches only
 * exactly.
 */
export const searchOptions: SearchOptions = {
  prefix: (term) => hasPrefix(term),
  fuzzy: (term) => (isFuzzy(term) ? fuzziness : false),
};

const fuzziness = 0.2;
const hasPrefix = (term: string): boolean => term.length >= minPrefixCharacters && !/\p{N}/u.test(term);
const isFuzzy = (term: string): boolean => term.length >= minFuzzyCharacters && !/\p{N}/u.test(term);

export const newIndex = (): MiniSearch<IndexedPassage> => new MiniSearch(indexOptions);

/**
 * Returns a predicate: whether a search for the wanted terms could match a term. Other terms only count for a passage's
 * length, which MiniSearch determines before it calls the filter. Without the other terms, an index of 4 million
 * characters takes a few megabytes; with them, hundreds.
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
        // One edit changes the length by at most one, and the set of letters by at most two.
        (Math.abs(term.length - other.term.length) <= other.edits &&
          bitsOf(letters ^ other.letters) <= 2 * other.edits),
    );
  };
}

/** The set of letters in a term, as 32 bits. Several letters share a bit. */
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

/** Ranks texts that have no stored index: it builds one for each call. */
export const passageRanking: PassageRanking = {
  async rank(passages, query, limit) {
    const mayBeFound = termFilter(termsOf(query));
    const index = new MiniSearch<IndexedPassage>({
      ...indexOptions,
      processTerm: (term) => mayBeFound(term) && term,
    });
    // Yields to the event loop after every 100 passages: 4 MB of text take two seconds in all.
    await index.addAllAsync(
      passages.map(({ text }, id) => ({ id, text })),
      { chunkSize: 100 },
    );
    return index
      .search(query, searchOptions)
      .slice(0, limit)
      .map(({ id, score }) => ({ found: passages[id as number] as (typeof passages)[number], score }));
  },
};
