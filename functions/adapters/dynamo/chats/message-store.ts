import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { between, type Item, type Table, type Write } from '#adapters/dynamo/table/table.ts';
import { transactWithRetry } from '#adapters/dynamo/table/transact-with-retry.ts';
import { idempotencyWrites } from '#adapters/dynamo/workspaces/request-store.ts';
import type { Chat } from '#domain/chats/chat.ts';
import { lastPosition, type Message, type MessageStore, type RatedMessage } from '#domain/chats/message.ts';
import { promptFilter } from '#domain/chats/turn.ts';
import { NotStorable } from '#domain/platform/failures.ts';
import type { Work } from '#domain/platform/idempotency.ts';
import { allEnded } from '#domain/platform/promises.ts';
import { releasing } from './chat-items.ts';
import {
  type Contents,
  largeTextsOf,
  positionsOf,
  readMessage,
  readMessageUpTo,
  storeLargeTexts,
  textOf,
  wholeItem,
} from './message-item.ts';

/** Enough, because few functions write the same items at the same time. */
const attemptsToWrite = 20;

/** 60,000 characters, the default history, are 1,000 messages of 60 characters. */
const messagesOfWindow = 1000;

/**
 * The maximum of characters of reasoning steps for one prompt, as JSON. From the message on that exceeds it, newest
 * first, messages are returned without steps.
 */
const stepsOfWindow = 1_000_000;

export const dynamoMessageStore = (table: Table, contents: Contents): MessageStore => ({
  ...reads(table, contents),
  async put(chat, message) {
    const { item, names } = await storeLargeTexts(contents, chat, message);
    const put = { Item: item, ...ifFree, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const;
    const { isDone, item: stored } = await table.putIf(put).catch((error: unknown) => {
      throw isRejected(error) ? new NotStorable('A message was rejected', { cause: error }) : error;
    });
    if (isDone || isSame(stored, item)) return true;
    await Promise.all(names.map((name) => contents().delete(name)));
    return false;
  },

  async putWithKey(chat, message, key) {
    const work: Work = { is: 'turn', chatId: chat.id, position: message.position };
    const failed = await failedConditionOf(table, [
      ...idempotencyWrites(key, work),
      putting(wholeItem(chat, message)),
    ]);
    if (failed === undefined) return 'stored';
    return failed === 0 ? 'key-in-use' : 'position-taken';
  },

  async putAndRelease(chat, leaseId, message) {
    const { item, names } = await storeLargeTexts(contents, chat, message);
    const failed = await failedConditionOf(table, [
      { Update: releasing(chat, leaseId, message.position) },
      putting(item),
    ]);
    if (failed === undefined) return 'stored';
    await Promise.all(names.map((name) => contents().delete(name)));
    return failed === 0 ? 'lease-lost' : 'position-taken';
  },
});

/** DynamoDB's errors for an item that it cannot store, such as one that is too large. */
const isRejected = (error: unknown): boolean =>
  error instanceof Error && ['ValidationException', 'SerializationException'].includes(error.name);

/** If so, the item counts as stored by an earlier attempt. */
const isSame = (stored: Item | undefined, item: Item): boolean =>
  isDeepStrictEqual(stored, unmarshall(marshall(item, { removeUndefinedValues: true })));

/** @returns the index of the first write whose condition failed; undefined if the transaction is done */
const failedConditionOf = (table: Table, writes: readonly Write[]): Promise<number | undefined> =>
  transactWithRetry<number | undefined>(table, {
    attempts: attemptsToWrite,
    plan: async () => ({ writes, result: undefined }),
    onConditionFailed: (failed) => ({ result: failed.indexOf(true) }),
  });

const putting = (Item: Item): Write => ({ Put: { Item, ...ifFree } });

const ifFree = { ConditionExpression: 'attribute_not_exists(pk)' };

const reads = (table: Table, contents: Contents) =>
  ({
    async *range(chat, { first, last, ascending }) {
      if (last < first) return;
      const read = async ({ item, counts }: RatedItem): Promise<RatedMessage> => ({
        message: await readMessage(contents, chat.workspaceId, item),
        feedbackCounts: counts,
      });
      for await (const items of ratedMessages(table, chat, { first, last, ascending })) {
        const messages = await unlessDeleted(table, chat, () => Promise.all(items.map(read)));
        if (messages === undefined) return;
        yield messages;
      }
    },

    async contentAt(workspaceId, chatId, position) {
      const [key, chatKey] = [keys.message(workspaceId, chatId, position), keys.chat(workspaceId, chatId)];
      const item = await table.get(key);
      if (item === undefined && (await table.get(chatKey)) === undefined) return undefined;
      return unlessDeleted(
        table,
        { workspaceId, id: chatId },
        async () => (await textOf(contents, item ?? (await table.getNamed(key)), 'content')) ?? '',
      );
    },

    async recent(chat, upTo, characters) {
      if (upTo === 0) return [];
      const newestFirst: Message[] = [];
      const left = { characters, steps: stepsOfWindow };
      for await (const item of itemsForPrompt(table, chat, upTo)) {
        const found = item && (await readMessageUpTo(contents, chat.workspaceId, item, left));
        if (found === undefined) return wholeTurns(newestFirst.reverse());
        left.characters -= found.message.content.length;
        left.steps -= found.stepCharacters;
        newestFirst.push(found.message);
      }
      return newestFirst.reverse();
    },
  }) satisfies Partial<MessageStore>;

/** @returns undefined if the read failed and the chat is deleted: its purge may have deleted a large text */
async function unlessDeleted<Read>(
  table: Table,
  { workspaceId, id }: Pick<Chat, 'workspaceId' | 'id'>,
  read: () => Promise<Read>,
): Promise<Read | undefined> {
  try {
    return await read();
  } catch (error) {
    if ((await table.get(keys.chat(workspaceId, id))) === undefined) return undefined;
    throw error;
  }
}

/** Newest first. An undefined stands for all messages before the newest `messagesOfWindow`. */
async function* itemsForPrompt(...messages: Parameters<typeof pagesBack>): AsyncGenerator<Item | undefined> {
  const isInPrompt = promptFilter();
  let read = 0;
  for await (const page of pagesBack(...messages))
    for (const item of page) {
      if (read === messagesOfWindow) return yield undefined;
      read += 1;
      if (isInPrompt(positionsOf(item))) yield item;
    }
}

/** An assistant message at the start lacks its user message. */
export const wholeTurns = (messages: Message[]): Message[] =>
  messages[0]?.role === 'assistant' ? messages.slice(1) : messages;

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
