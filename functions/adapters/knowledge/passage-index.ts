import MiniSearch, { type Options, type SearchOptions } from 'minisearch';
import type { Scored } from '#domain/knowledge/knowledge.ts';
import type { PassageOfText, SearchedText } from '#domain/knowledge/passage-ranking.ts';
import { splitText } from '#domain/knowledge/split-text.ts';
import { termCharacters, termsOf } from './terms.ts';

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

/**
 * The first different words of a query. For each, MiniSearch lists all passages that match: with 15,000 passages, the most
 * of a workspace, 32 words take 150 MB.
 */
const mostQueryTerms = 32;

const queryTerms = (query: string): string[] => [...new Set(termsOf(query))].slice(0, mostQueryTerms);

/** Shorter terms would match too many others. */
const minPrefixCharacters = 4;
const minFuzzyCharacters = 6;

/**
 * A passage matches if it has at least one of the terms. Longer words that start with a term, and words that differ in
 * one letter of five, count less: `holiday` finds `holidays`, and the other way round. A term with a digit matches only
 * exactly.
 */
export const searchOptions: SearchOptions = {
  tokenize: queryTerms,
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
  const exact = new Set(wanted);
  const prefixes = new Set(wanted.filter(hasPrefix));
  const prefixLengths = [...new Set([...prefixes].map(({ length }) => length))];
  const fuzzy = wanted.filter(isFuzzy).map((term) => ({
    length: term.length,
    edits: Math.ceil(term.length * fuzziness),
    letters: lettersOf(term),
  }));
  /** The fuzzy terms by the lengths of the terms that could match. One edit changes the length by at most one. */
  const fuzzyByLength = Array.from({ length: termCharacters + 1 }, (_each, length) =>
    fuzzy.filter((term) => Math.abs(term.length - length) <= term.edits),
  );
  return (term) => {
    if (exact.has(term)) return true;
    if (prefixLengths.some((length) => length < term.length && prefixes.has(term.slice(0, length))))
      return true;
    const candidates = fuzzyByLength[term.length] ?? [];
    if (candidates.length === 0) return false;
    const letters = lettersOf(term);
    // One edit changes the set of letters by at most two.
    return candidates.some((other) => bitsOf(letters ^ other.letters) <= 2 * other.edits);
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

/** The best passages of texts that have no stored index: it builds one for each call. */
export function rankTexts(
  texts: readonly SearchedText[],
  query: string,
  limit: number,
): Scored<PassageOfText>[] {
  const passages = texts.flatMap(({ text, pageOffsets }, textIndex) =>
    splitText(text, pageOffsets).map((passage): PassageOfText => ({ ...passage, textIndex })),
  );
  const mayBeFound = termFilter(queryTerms(query));
  const index = new MiniSearch<IndexedPassage>({
    ...indexOptions,
    processTerm: (term) => mayBeFound(term) && term,
  });
  for (const [id, { text }] of passages.entries()) index.add({ id, text });
  return index
    .search(query, searchOptions)
    .slice(0, limit)
    .map(({ id, score }) => ({ found: passages[id as number] as PassageOfText, score }));
}
