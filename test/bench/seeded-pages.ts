import { pageOffsets } from './figures.ts';

/** Items on a page. */
export const pageLength = 50;

/** More than the farthest page needs, so that no page is at the end of its list. */
const seededCount = 1_100_000;

/** The lists that are read: `total` chats, newest first, and one chat with `total` messages, oldest first. */
export interface SeededPages {
  total: number;
  chatId: number;
}

/**
 * The chats and messages that must exist for these pages. Chat ids and positions of messages are dense
 * (docs/decisions/001): totals are counters, and a page is a range of ids. So no other items are read, and they need
 * not exist.
 */
export const pagesToSeed = {
  total: seededCount,
  /** The newest chat, whose history has as many messages. */
  chatId: seededCount,
  chatIds: pageOffsets.flatMap((offset) => idsFrom(seededCount - offset - pageLength + 1)),
  positions: pageOffsets.flatMap((offset) => idsFrom(offset + 1)),
};

function idsFrom(first: number): number[] {
  return Array.from({ length: pageLength }, (_, index) => first + index);
}

export const seedingNote =
  `Pages: lists of ${seededCount} items of which only the counters and the items that are read exist ` +
  '(chat ids and message positions are dense, so no other item is read), in both stores.';
