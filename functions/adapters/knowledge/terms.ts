/** A run of letters, digits and the marks on them, or of emoji and other symbols that people look for. */
const words = /[\p{L}\p{N}\p{M}]+|\p{Extended_Pictographic}/gu;

/** Scripts written without spaces between words. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\u30FC]+/gu;

/** Accents of Latin, Greek and Cyrillic letters; the vowel signs of other scripts stay. */
const accents = /[\u0300-\u036F]/g;

/** Longer ones are encoded data, which nobody looks for by its whole. */
const termCharacters = 64;

const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' });

/**
 * The terms of a text, as it is searched: words without case and accents. Where a script has no spaces a dictionary
 * parts it; it is asked for those runs alone, since it takes ten times as long.
 */
export function termsOf(text: string): string[] {
  const terms: string[] = [];
  const plain = text.normalize('NFKD').replaceAll(accents, '').normalize('NFC').toLowerCase();
  for (const [word] of plain.matchAll(words)) {
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
