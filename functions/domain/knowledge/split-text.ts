import type { Passage } from './knowledge.ts';

/**
 * About 200 words: long enough to hold an answer with what it refers to, short enough that five of them are read by a
 * model for about 1,250 tokens.
 */
const passageCharacters = 1000;

/** A tenth again at the start of the next: a sentence or two, so that what a cut parts stands together once. */
const overlapCharacters = 100;

/** A passage ends at the best break of its second half; one in the first would make it too short. */
const leastCharacters = passageCharacters / 2;

/** Best first. Each matches up to where the next passage may begin. */
const breaks = [
  /\n[^\S\n]*\n\s*/g, // a paragraph
  /[.!?…]['"”’)\]]*\s+|[。！？][」』）”]*|\n/g, // a sentence or a line
  /\s+/g, // a word
] as const;

/**
 * Cuts a text into passages that overlap a little, at paragraphs where it can, else at sentences or words. None reaches
 * over the end of a page, so that each names the page where all of it stands.
 * @param pageOffsets where each page begins, rising
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
  const most = start + passageCharacters;
  if (most >= to) return to;
  const second = text.slice(start + leastCharacters, most);
  for (const pattern of breaks) {
    const last = lastEnd(second, pattern);
    if (last !== undefined) return start + leastCharacters + last;
  }
  return betweenCharacters(text, most);
}

/** The overlap begins with a sentence if one begins in it, else with a word. */
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

/** Undefined when it is the text's end: nothing would be left. */
function firstEnd(text: string, pattern: RegExp): number | undefined {
  for (const match of text.matchAll(pattern)) {
    const end = match.index + match[0].length;
    return end < text.length ? end : undefined;
  }
  return undefined;
}

/** A character outside the basic plane is two units, which belong together. */
const betweenCharacters = (text: string, at: number): number =>
  (text.codePointAt(at - 1) ?? 0) > 0xffff ? at - 1 : at;
