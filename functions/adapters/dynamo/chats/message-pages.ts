import { setImmediate as nextTurn } from 'node:timers/promises';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { between, type Item, type Table } from '#adapters/dynamo/table/table.ts';
import type { Chat } from '#domain/chats/chat.ts';
import { lastPosition } from '#domain/chats/message.ts';
import { allEnded } from '#domain/platform/promises.ts';
import { largeTextsOf } from './message-item.ts';

/** The number of items (messages and feedback counts) on a page when a chat is read backwards for a prompt. */
const messagesPerRead = 50;

/** The maximum number of large texts that are read concurrently for a page. Each may have some megabytes. */
const largeTextsAtOnce = 4;

type ChatKey = Pick<Chat, 'workspaceId' | 'id'>;

export interface RatedItem {
  item: Item;
  counts: Record<string, number>;
}

/**
 * Reads the messages between two positions, both included, with their feedback counts, in parts with few large texts.
 */
export async function* ratedMessages(
  table: Table,
  chat: ChatKey,
  range: { first: number; last: number; ascending: boolean },
): AsyncGenerator<RatedItem[]> {
  const pages = pagesBetween(table, chat, range);
  for await (const page of range.ascending ? ratedAscending(pages) : ratedDescending(pages))
    yield* withFewLargeTexts(page);
}

/** Reads the items of the messages up to a position, newest first. */
export async function* pagesBack(
  table: Table,
  chat: ChatKey,
  upTo: number | Promise<number>,
): AsyncGenerator<Item[]> {
  // A promise `upTo` waits for the request that acquires the chat lease. Building and signing that request takes
  // processor time: one turn of the event loop lets this happen before this query. The race also handles a rejection of
  // the promise in the meantime.
  if (typeof upTo !== 'number') await Promise.race([nextTurn(), upTo]);
  let pages = pagesBackFrom(table, chat, typeof upTo === 'number' ? upTo : lastPosition);
  let [page, last] = await allEnded([pages.next(), upTo]);
  if (last === 0) return;
  // Positions have no gaps and messages do not change. So a page with a message at `last` or later misses no message
  // before it. Any other page may have been read too early, and is read again.
  if (!page.value?.some(({ position }: Item) => (position as number) >= last)) {
    pages = pagesBackFrom(table, chat, last);
    page = await pages.next();
  }
  for (; !page.done; page = await pages.next())
    yield page.value.filter(({ position }) => position !== undefined && (position as number) <= last);
}

const pagesBackFrom = (table: Table, chat: ChatKey, last: number) =>
  pagesBetween(table, chat, { first: 1, last, ascending: false, limit: messagesPerRead });

const pagesBetween = (
  table: Table,
  chat: ChatKey,
  range: { first: number; last: number; ascending: boolean; limit?: number },
) =>
  table.queryPages({
    ...between(
      keys.message(chat.workspaceId, chat.id, range.first),
      keys.feedbackCounts(chat.workspaceId, chat.id, range.last),
    ),
    ScanIndexForward: range.ascending,
    ...(range.limit !== undefined && { Limit: range.limit }),
  });

/**
 * Joins each message with its feedback counts, if it has any. They are the next item, which may be on the next page.
 */
async function* ratedAscending(pages: AsyncIterable<Item[]>): AsyncGenerator<RatedItem[]> {
  let waiting: RatedItem | undefined;
  for await (const page of pages) {
    const complete: RatedItem[] = [];
    for (const item of page)
      if (isMessage(item)) {
        if (waiting !== undefined) complete.push(waiting);
        waiting = { item, counts: {} };
      } else if (waiting !== undefined) waiting.counts = countsOf(item);
    yield complete;
  }
  if (waiting !== undefined) yield [waiting];
}

/**
 * Joins each message with its feedback counts, if it has any. They are the previous item, which may be on the previous
 * page.
 */
async function* ratedDescending(pages: AsyncIterable<Item[]>): AsyncGenerator<RatedItem[]> {
  let counts: RatedItem['counts'] = {};
  for await (const page of pages) {
    const complete: RatedItem[] = [];
    for (const item of page)
      if (isMessage(item)) {
        complete.push({ item, counts });
        counts = {};
      } else counts = countsOf(item);
    yield complete;
  }
}

const isMessage = (item: Item): boolean => item.position !== undefined;

/** The feedback counts, without types whose count is 0. */
const countsOf = ({ pk, sk, ...counts }: Item): RatedItem['counts'] =>
  Object.fromEntries(Object.entries(counts as RatedItem['counts']).filter(([, count]) => count > 0));

/** Splits a page into parts with few texts from the content store each. */
function* withFewLargeTexts(page: readonly RatedItem[]): Generator<RatedItem[]> {
  let part: RatedItem[] = [];
  let large = 0;
  for (const rated of page) {
    const more = largeTextsOf(rated.item);
    if (large + more > largeTextsAtOnce) {
      yield part;
      [part, large] = [[], 0];
    }
    part.push(rated);
    large += more;
  }
  if (part.length > 0) yield part;
}
