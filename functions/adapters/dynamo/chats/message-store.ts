import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import { backOff } from '#adapters/dynamo/table/back-off.ts';
import { keys } from '#adapters/dynamo/table/keys.ts';
import {
  failedConditions,
  type Item,
  isConflict,
  type Table,
  type Write,
} from '#adapters/dynamo/table/table.ts';
import { idempotencyWrites } from '#adapters/dynamo/workspaces/idempotency-store.ts';
import type { Chat } from '#domain/chats/chat.ts';
import type { ContentStore } from '#domain/chats/content-store.ts';
import { lastPosition, type Message } from '#domain/chats/message.ts';
import type { MessageStore, RatedMessage } from '#domain/chats/message-store.ts';
import type { Work } from '#domain/platform/idempotency-record.ts';
import { NotStorable } from '#domain/platform/not-storable.ts';
import { attributesOf, messageOf, textsOf } from './message-item.ts';
import { releasing } from './release-lease.ts';

/** What content and steps may have together in an item of 400 KB; the rest is for the message's other attributes. */
const inlineBytes = 300_000;

/** Others that write the same items in the same moment are few: who settles the same turn, or makes the same request. */
const attemptsToWrite = 20;

/** Messages asked for at once when a history is read backwards: more than most windows need, one page. */
const messagesPerRead = 50;

/** Of a window: 60,000 characters hold as many messages of 60, which is little; each may have files and steps. */
const messagesOfWindow = 1000;

/**
 * Characters of steps, as JSON, that a window holds: models see only earlier forms of them, of some 2,000. Of messages
 * before that there are none.
 */
const stepsOfWindow = 1_000_000;

/** Of a page of messages: some megabytes each, when they are long. */
const largeTextsAtOnce = 4;

/** @param contents asked for when a text is too large for its item, or was */
export function dynamoMessageStore(table: Table, contents: () => ContentStore): MessageStore {
  const textOf = async (item: Item, attribute: 'content' | 'steps'): Promise<string | undefined> => {
    const name = item[`${attribute}_name`] as string | undefined;
    return name === undefined ? (item[attribute] as string | undefined) : contents().get(name);
  };
  const read = async ({ workspaceId }: Pick<Chat, 'workspaceId'>, item: Item): Promise<Message> => {
    const [content = '', steps] = await Promise.all([textOf(item, 'content'), textOf(item, 'steps')]);
    return messageOf(item, workspaceId, { content, steps });
  };

  /** Undefined when its text is longer; without its steps when they are. */
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

  /** A message's item. What is too large for it goes to the content store, the longer of content and steps first. */
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

  /** Writes all or nothing. @returns which write's condition did not hold, from 0; undefined when all did */
  const failedConditionOf = async (writes: (TableName: string) => Write[]): Promise<number | undefined> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await table.transact(writes);
        return undefined;
      } catch (error) {
        const failed = failedConditions(error).indexOf(true);
        if (failed >= 0) return failed;
        if (!isConflict(error) || attempt === attemptsToWrite) throw error;
      }
      await backOff(attempt);
    }
  };

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

  /** The messages at positions up to one, newest first. */
  async function* pagesBack(
    chat: Pick<Chat, 'workspaceId' | 'id'>,
    upTo: number | Promise<number>,
  ): AsyncGenerator<Item[]> {
    // What finds upTo out is what others wait for: its request is made and signed, which computes, before this one.
    if (typeof upTo !== 'number') await nextTurn();
    let pages = pagesBackFrom(chat, typeof upTo === 'number' ? upTo : lastPosition);
    let [page, last] = await together(pages.next(), upTo);
    if (last === 0) return;
    // Positions are dense and messages stay as they are: who sees the last one sees all before it.
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

/** DynamoDB's answers to an item that is too large, too deep, or no text: they are the same each time. */
const isRejected = (error: unknown): boolean =>
  error instanceof Error && ['ValidationException', 'SerializationException'].includes(error.name);

/** Both, and neither goes on behind the other's failure. */
async function together<One, Other>(one: Promise<One>, other: Other | Promise<Other>): Promise<[One, Other]> {
  await Promise.allSettled([one, other]);
  return Promise.all([one, other]);
}

/** A message that is small enough for its item, at a free place. */
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

/** Whether the item in the way is the one to be stored: DynamoDB's answer got lost, and the SDK sent it once more. */
const isSame = (stored: ConditionalCheckFailedException['Item'], item: Item): boolean =>
  isDeepStrictEqual(stored, marshall(item, { removeUndefinedValues: true }));

const wholeTurns = (messages: Message[]): Message[] =>
  messages[0]?.role === 'assistant' ? messages.slice(1) : messages;

const isMessage = (item: Item): boolean => item.position !== undefined;

interface RatedItem {
  item: Item;
  counts: Record<string, number>;
}

/** Parts of a page in each of which few texts must be fetched from where large ones are kept. */
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

/** Joins messages with the feedback counts that stand beside them, also across the pages of a query. */
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

/** Types that nobody gives any more are left out. */
const countsOf = ({ pk, sk, ...counts }: Item): Record<string, number> =>
  Object.fromEntries(Object.entries(counts as Record<string, number>).filter(([, count]) => count > 0));
