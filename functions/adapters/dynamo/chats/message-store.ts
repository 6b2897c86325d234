import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Item, Table, Write } from '#adapters/dynamo/table/table.ts';
import { transactWithRetry } from '#adapters/dynamo/table/transact-with-retry.ts';
import { idempotencyWrites } from '#adapters/dynamo/workspaces/idempotency-store.ts';
import type { Chat } from '#domain/chats/chat.ts';
import type { ContentStore } from '#domain/chats/content-store.ts';
import { lastPosition, type Message } from '#domain/chats/message.ts';
import type { MessageStore, RatedMessage } from '#domain/chats/message-store.ts';
import type { Work } from '#domain/platform/idempotency-record.ts';
import { NotStorable } from '#domain/platform/not-storable.ts';
import { attributesOf, messageOf, textsOf } from './message-item.ts';
import { releasing } from './release-lease.ts';

/** Bytes of content and steps in an item, which has at most 400 KB with the other attributes of the message. */
const inlineBytes = 300_000;

/** Few functions write the same items at the same time: those that close one turn, or repeat one request. */
const attemptsToWrite = 20;

/** Messages of one query when a history is read backwards: one page, more than most windows need. */
const messagesPerRead = 50;

/** Messages of a window: 60,000 characters are 1,000 messages of 60 characters. Each may have files and steps. */
const messagesOfWindow = 1000;

/**
 * Characters of reasoning steps in a window, as JSON. Models get only previews of them, about 2,000 characters. Messages
 * before this limit have no steps.
 */
const stepsOfWindow = 1_000_000;

/** Large texts that are read concurrently for a page: some megabytes each. */
const largeTextsAtOnce = 4;

/** @param contents called only for texts that are too large for their items */
export function dynamoMessageStore(table: Table, contents: () => ContentStore): MessageStore {
  const textOf = async (item: Item, attribute: 'content' | 'steps'): Promise<string | undefined> => {
    const name = item[`${attribute}_name`] as string | undefined;
    return name === undefined ? (item[attribute] as string | undefined) : contents().get(name);
  };
  const read = async ({ workspaceId }: Pick<Chat, 'workspaceId'>, item: Item): Promise<Message> => {
    const [content = '', steps] = await Promise.all([textOf(item, 'content'), textOf(item, 'steps')]);
    return messageOf(item, workspaceId, { content, steps });
  };

  /** Undefined if the text is longer; without the steps if those are. */
  const readUpTo = async (
    { workspaceId }: Pick<Chat, 'workspaceId'>,
    item: Item,
    most: { characters: number; steps: number },
  ): Promise<{ message: Message; stepCharacters: number } | undefined> => {
    const upTo = async (attribute: 'content' | 'steps', characters: number): Promise<string | undefined> => {
      const name = item[`${attribute}_name`] as string | undefined;
      if (name !== undefined) return contents().getUpTo(name, characters);
      const text = (item[attribute] as string | undefined) ?? '';
      return text.length <= characters ? text : undefined;
    };
    const content = await upTo('content', most.characters);
    if (content === undefined) return undefined;
    const steps = await upTo('steps', most.steps);
    const message = messageOf(item, workspaceId, { content, steps: steps === '' ? undefined : steps });
    return { message, stepCharacters: steps?.length ?? most.steps };
  };

  /** The item of a message. What is too large for it goes to the content store: the longer of content and steps first. */
  const itemOf = async (chat: Chat, message: Message): Promise<{ item: Item; names: string[] }> => {
    const texts = textsOf(message);
    const longestFirst = Object.entries(texts)
      .map(([attribute, text]) => ({ attribute, text, bytes: Buffer.byteLength(text) }))
      .sort((one, other) => other.bytes - one.bytes);
    const item: Item = {
      ...keys.message(chat.workspaceId, chat.id, message.position),
      ...attributesOf(message),
      ...texts,
    };
    let bytes = longestFirst.reduce((sum, entry) => sum + entry.bytes, 0);
    const names: string[] = [];
    for (const entry of longestFirst) {
      if (bytes <= inlineBytes) break;
      const name = await contents().put(chat.workspaceId, entry.text);
      names.push(name);
      delete item[entry.attribute];
      item[`${entry.attribute}_name`] = name;
      bytes -= entry.bytes;
    }
    return { item, names };
  };

  /** @returns index of the write whose condition failed; undefined if the transaction is done */
  const failedConditionOf = (writes: (TableName: string) => Write[]): Promise<number | undefined> =>
    transactWithRetry<number | undefined>(table, {
      attempts: attemptsToWrite,
      plan: async () => ({ writes, result: undefined }),
      onConditionFailed: (failed) => ({ result: failed.indexOf(true) }),
    });

  const pagesBetween = (
    chat: Pick<Chat, 'workspaceId' | 'id'>,
    range: { first: number; last: number; ascending: boolean; limit?: number },
  ) =>
    table.queryPages({
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :first AND :last',
      ExpressionAttributeValues: {
        ':pk': keys.chat(chat.workspaceId, chat.id).pk,
        ':first': keys.message(chat.workspaceId, chat.id, range.first).sk,
        ':last': keys.feedbackCounts(chat.workspaceId, chat.id, range.last).sk,
      },
      ScanIndexForward: range.ascending,
      ...(range.limit !== undefined && { Limit: range.limit }),
    });

  const pagesBackFrom = (chat: Pick<Chat, 'workspaceId' | 'id'>, last: number) =>
    pagesBetween(chat, { first: 1, last, ascending: false, limit: messagesPerRead });

  /** The messages up to a position, newest first. */
  async function* pagesBack(
    chat: Pick<Chat, 'workspaceId' | 'id'>,
    upTo: number | Promise<number>,
  ): AsyncGenerator<Item[]> {
    // The lease is on the critical path: its request is built and signed, which takes processor time, before this one.
    // The race also handles a rejection in the meantime.
    if (typeof upTo !== 'number') await Promise.race([nextTurn(), upTo]);
    let pages = pagesBackFrom(chat, typeof upTo === 'number' ? upTo : lastPosition);
    let [page, last] = await together(pages.next(), upTo);
    if (last === 0) return;
    // Positions have no gaps and messages do not change: a read that has the last one has all before it.
    if (!page.value?.some(({ position }: Item) => (position as number) >= last)) {
      pages = pagesBackFrom(chat, last);
      page = await pages.next();
    }
    for (; !page.done; page = await pages.next())
      yield page.value.filter(({ position }) => position !== undefined && (position as number) <= last);
  }

  return {
    async put(chat, message) {
      const { item, names } = await itemOf(chat, message);
      try {
        await table.put({
          Item: item,
          ConditionExpression: 'attribute_not_exists(pk)',
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        });
        return true;
      } catch (error) {
        if (isRejected(error)) throw new NotStorable('A message was rejected', { cause: error });
        if (!(error instanceof ConditionalCheckFailedException)) throw error;
        if (isSame(error.Item, item)) return true;
        await Promise.all(names.map((name) => contents().delete(name)));
        return false;
      }
    },

    async putWithKey(chat, message, key) {
      const work: Work = { is: 'turn', chatId: chat.id, position: message.position };
      const failed = await failedConditionOf((TableName) => [
        ...idempotencyWrites(TableName, key, work),
        putting(TableName, chat, message),
      ]);
      if (failed === undefined) return 'stored';
      return failed === 0 ? 'key-in-use' : 'position-taken';
    },

    async putAndRelease(chat, leaseId, message) {
      const failed = await failedConditionOf((TableName) => [
        { Update: { TableName, ...releasing(chat, leaseId, message.position) } },
        putting(TableName, chat, message),
      ]);
      if (failed === undefined) return 'stored';
      return failed === 0 ? 'lease-lost' : 'position-taken';
    },

    async *range(chat, { first, last, ascending }) {
      if (last < first) return;
      const items = rated(pagesBetween(chat, { first, last, ascending }), ascending);
      for await (const page of items)
        for (const items of withFewLargeTexts(page))
          yield await Promise.all(
            items.map(
              async ({ item, counts }): Promise<RatedMessage> => ({
                message: await read(chat, item),
                feedbackCounts: counts,
              }),
            ),
          );
    },

    async contentAt(workspaceId, chatId, position) {
      const item = await table.getNamed(keys.message(workspaceId, chatId, position));
      return (await textOf(item, 'content')) ?? '';
    },

    async recent(chat, upTo, characters) {
      if (upTo === 0) return [];
      const newestFirst: Message[] = [];
      const left = { characters, steps: stepsOfWindow };
      for await (const page of pagesBack(chat, upTo))
        for (const item of page) {
          const found = newestFirst.length < messagesOfWindow ? await readUpTo(chat, item, left) : undefined;
          if (found === undefined) return wholeTurns(newestFirst.reverse());
          left.characters -= found.message.content.length;
          left.steps -= found.stepCharacters;
          newestFirst.push(found.message);
        }
      return newestFirst.reverse();
    },
  };
}

/** DynamoDB's errors for an item that is too large, too deep, or not valid text. A retry gets the same error. */
const isRejected = (error: unknown): boolean =>
  error instanceof Error && ['ValidationException', 'SerializationException'].includes(error.name);

/** Waits for both, also if one fails: nothing may run after the function's end. */
async function together<One, Other>(one: Promise<One>, other: Other | Promise<Other>): Promise<[One, Other]> {
  await Promise.allSettled([one, other]);
  return Promise.all([one, other]);
}

/** The write of a message that fits into its item, on the condition that the position is free. */
const putting = (TableName: string, chat: Chat, message: Message): Write => ({
  Put: {
    TableName,
    Item: {
      ...keys.message(chat.workspaceId, chat.id, message.position),
      ...attributesOf(message),
      ...textsOf(message),
    },
    ConditionExpression: 'attribute_not_exists(pk)',
  },
});

/** Whether the stored item is this write: the response was lost, and the SDK retried the write. */
const isSame = (stored: ConditionalCheckFailedException['Item'], item: Item): boolean =>
  isDeepStrictEqual(stored, marshall(item, { removeUndefinedValues: true }));

const wholeTurns = (messages: Message[]): Message[] =>
  messages[0]?.role === 'assistant' ? messages.slice(1) : messages;

const isMessage = (item: Item): boolean => item.position !== undefined;

interface RatedItem {
  item: Item;
  counts: Record<string, number>;
}

/** Splits a page into parts with few texts from the content store each. */
function* withFewLargeTexts(page: readonly RatedItem[]): Generator<RatedItem[]> {
  let part: RatedItem[] = [];
  let large = 0;
  for (const rated of page) {
    const more = ['content_name', 'steps_name'].filter((name) => rated.item[name] !== undefined).length;
    if (large + more > largeTextsAtOnce) {
      yield part;
      [part, large] = [[], 0];
    }
    part.push(rated);
    large += more;
  }
  if (part.length > 0) yield part;
}

/** Joins messages with their feedback counts, which follow them, also across pages of a query. */
async function* rated(pages: AsyncIterable<Item[]>, ascending: boolean): AsyncGenerator<RatedItem[]> {
  let waitingMessage: RatedItem | undefined;
  let waitingCounts: Record<string, number> = {};
  for await (const page of pages) {
    const complete: RatedItem[] = [];
    for (const item of page)
      if (!isMessage(item)) {
        if (ascending && waitingMessage !== undefined) waitingMessage.counts = countsOf(item);
        else waitingCounts = countsOf(item);
      } else if (ascending) {
        if (waitingMessage !== undefined) complete.push(waitingMessage);
        waitingMessage = { item, counts: {} };
      } else {
        complete.push({ item, counts: waitingCounts });
        waitingCounts = {};
      }
    yield complete;
  }
  if (waitingMessage !== undefined) yield [waitingMessage];
}

/** Without types that no user gives any more. */
const countsOf = ({ pk, sk, ...counts }: Item): Record<string, number> =>
  Object.fromEntries(Object.entries(counts as Record<string, number>).filter(([, count]) => count > 0));
