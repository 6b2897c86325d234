import { setImmediate as nextTurn } from 'node:timers/promises';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { between, type Item, type Table } from '#adapters/dynamo/table/table.ts';
import type { Chat } from '#domain/chats/chat.ts';
import { lastPosition } from '#domain/chats/message.ts';
import { allEnded } from '#domain/platform/promises.ts';
import { largeTextsOf } from './message-item.ts';

const messagesPerRead = 50;

/** Each may have some megabytes. */
const largeTextsAtOnce = 4;

type ChatKey = Pick<Chat, 'workspaceId' | 'id'>;

export interface RatedItem {
  item: Item;
  counts: Record<string, number>;
}

/** Both positions are included. Each array has at most `largeTextsAtOnce` large texts. */
export async function* ratedMessages(
  table: Table,
  chat: ChatKey,
  range: { first: number; last: number; ascending: boolean },
): AsyncGenerator<RatedItem[]> {
  const pages = pagesBetween(table, chat, range);
  for await (const page of range.ascending ? ratedAscending(pages) : ratedDescending(pages))
    yield* withFewLargeTexts(page);
}

export async function* pagesBack(
  table: Table,
  chat: ChatKey,
  upTo: number | Promise<number>,
): AsyncGenerator<Item[]> {
  // Else building and signing this query would delay the request that `upTo` waits for. The race also handles a
  // rejection of `upTo`.
  if (typeof upTo !== 'number') await Promise.race([nextTurn(), upTo]);
  let pages = pagesBackFrom(table, chat, typeof upTo === 'number' ? upTo : lastPosition);
  let [page, last] = await allEnded([pages.next(), upTo]);
  if (last === 0) return;
  // Positions have no gaps: if the page has a message at `last` or later, all messages up to `last` were stored when it
  // was read. Any other page may have been read too early.
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

/** The feedback counts of a message are the item after it in the key order, perhaps on another page. */
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

const countsOf = ({ pk, sk, ...counts }: Item): RatedItem['counts'] =>
  Object.fromEntries(Object.entries(counts as RatedItem['counts']).filter(([, count]) => count > 0));

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
