import type { Passage } from './knowledge.ts';

/**
 * About 200 words: long enough for a fact and its context, short enough that five passages cost a model only about
 * 1,250 tokens.
 */
const passageCharacters = 1000;

/**
 * The next passage repeats the last tenth: one or two sentences, so that text around a cut is complete in one of the
 * passages.
 */
const overlapCharacters = 100;

/** A passage ends at the best break in its second half. A break in the first half would make it too short. */
const minPassageCharacters = passageCharacters / 2;

/** Best first. Each match ends where the next passage may start. */
const breaks = [
  /\n[^\S\n]*\n\s*/g, // a paragraph
  /[.!?…]['"”’)\]]*\s+|[。！？][」』）”]*|\n/g, // a sentence or a line
  /\s+/g, // a word
] as const;

/**
 * Splits a text into passages that overlap a little. It splits between paragraphs if possible, else between sentences
 * or words. A passage never crosses the end of a page, so its page number holds for all of it.
 * @param pageOffsets where each page starts, in ascending order
 */
export function splitText(text: string, pageOffsets: readonly number[] = []): Passage[] {
  if (pageOffsets.length === 0) return splitPart(text, 0, text.length);
  return pageOffsets.flatMap((start, index) =>
    splitPart(text, start, pageOffsets[index + 1] ?? text.length).map((passage) => ({
      ...passage,
      page: index + 1,
    })),
  );
}

function splitPart(text: string, from: number, to: number): Passage[] {
  const passages: Passage[] = [];
  for (let start = from; start < to; ) {
    const end = endOf(text, start, to);
    const passage = text.slice(start, end);
    const words = passage.trim();
    if (words !== '') passages.push({ text: words, offset: start + passage.indexOf(words) });
    if (end === to) break;
    start = nextStart(text, end);
  }
  return passages;
}

function endOf(text: string, start: number, to: number): number {
  const maxEnd = start + passageCharacters;
  if (maxEnd >= to) return to;
  const secondHalf = text.slice(start + minPassageCharacters, maxEnd);
  for (const pattern of breaks) {
    const last = lastEnd(secondHalf, pattern);
    if (last !== undefined) return start + minPassageCharacters + last;
  }
  return betweenCharacters(text, maxEnd);
}

/** The overlap starts with a sentence if one starts in it, else with a word. */
function nextStart(text: string, end: number): number {
  const start = end - overlapCharacters;
  const overlap = text.slice(start, end);
  for (const pattern of breaks.slice(1)) {
    const first = firstEnd(overlap, pattern);
    if (first !== undefined) return start + first;
  }
  return betweenCharacters(text, start);
}

function lastEnd(text: string, pattern: RegExp): number | undefined {
  let end: number | undefined;
  for (const match of text.matchAll(pattern)) end = match.index + match[0].length;
  return end;
}

/** Undefined if the match ends where the text ends: nothing would be left. */
function firstEnd(text: string, pattern: RegExp): number | undefined {
  for (const match of text.matchAll(pattern)) {
    const end = match.index + match[0].length;
    return end < text.length ? end : undefined;
  }
  return undefined;
}

/** Never splits a surrogate pair: a character outside the Basic Multilingual Plane is two UTF-16 code units. */
const betweenCharacters = (text: string, at: number): number =>
  (text.codePointAt(at - 1) ?? 0) > 0xffff ? at - 1 : at;
