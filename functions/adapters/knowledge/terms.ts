/** A sequence of letters, digits and combining marks, or a single emoji or pictographic symbol. */
const words = /[\p{L}\p{N}\p{M}]+|\p{Extended_Pictographic}/gu;

/** Scripts written without spaces between words. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\u30FC]+/gu;

/** Accents of Latin, Greek and Cyrillic letters. The vowel signs of other scripts are not in this range. */
const accents = /[\u0300-\u036F]/g;

/** Longer terms are encoded data, not words, and are left out. */
export const termCharacters = 64;

const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' });

/**
 * The search terms of a text: words in lower case, without accents. Scripts without spaces are split by a dictionary
 * (Intl.Segmenter). Other scripts do not use the dictionary, because it is ten times slower.
 */
export function termsOf(text: string): string[] {
  const terms: string[] = [];
  const plain = text.normalize('NFKD').replaceAll(accents, '').normalize('NFC').toLowerCase();
  // Most texts have none of these scripts: to look once is five times faster than to look at each word.
  const hasUnspaced = plain.search(unspaced) >= 0;
  for (const word of plain.match(words) ?? []) {
    if (!hasUnspaced) {
      push(terms, word);
      continue;
    }
    let end = 0;
    for (const run of word.matchAll(unspaced)) {
      push(terms, word.slice(end, run.index));
      for (const { segment } of segmenter.segment(run[0])) push(terms, segment);
      end = run.index + run[0].length;
    }
    push(terms, word.slice(end));
  }
  return terms;
}

function push(terms: string[], term: string): void {
  if (term !== '' && term.length <= termCharacters) terms.push(term);
}
