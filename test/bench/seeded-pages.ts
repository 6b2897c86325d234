import { pageOffsets } from './figures.ts';

/** Rows of a page. */
export const pageLength = 50;

/** More than the farthest page needs, so that none is at an end. */
const seededCount = 1_100_000;

/** The lists that pages are read of: so many chats, newest first, and a chat with so many messages, oldest first. */
export interface SeededPages {
  total: number;
  chatId: number;
}

/**
 * What must stand in a store for these pages. Chat ids and positions of messages are dense (docs/decisions/001): totals
 * are counters, and a page is a range of ids, so the other rows are never looked at and need not be there.
 */
export const pagesToSeed = {
  total: seededCount,
  /** Of all chats the newest; its history has as many messages. */
  chatId: seededCount,
  chatIds: pageOffsets.flatMap((offset) => itemsFrom(seededCount - offset - pageLength + 1)),
  positions: pageOffsets.flatMap((offset) => itemsFrom(offset + 1)),
};

function itemsFrom(first: number): number[] {
  return Array.from({ length: pageLength }, (_, index) => first + index);
}

export const seedingNote =
  `Pages: lists of ${seededCount} rows of which only the counters and the rows that are read exist ` +
  '(chat ids and message positions are dense, so no other row is looked at), in both stores.';
