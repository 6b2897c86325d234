import { type AttributeValue, type DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { ListPage, PageEnds } from '#contract/pagination.ts';
import type { Clock } from '#domain/platform/services.ts';
import { adaptWidth } from './back-off.ts';
import type { Key, ListKeys } from './keys.ts';
import { allOf, between, type Item, ifStill, type Table, type Write } from './table.ts';
import { transactIfFirst } from './transact-with-retry.ts';

/**
 * Reads the keys and the named attributes of all items. An item that exists during the whole scan is found. DynamoDB
 * bills whole items.
 * @param attributes document paths, such as `requests[0].name`
 * @param visit is called concurrently, with pages of different segments
 */
export type ScanKeys = (
  attributes: readonly string[],
  visit: (page: Item[]) => Promise<void>,
) => Promise<void>;

const segments = 8;

/** @param client for scans alone: `adaptWidth` bounds its concurrent calls */
export function keyScanner(client: DynamoDBClient, TableName: string): ScanKeys {
  adaptWidth(client, segments);
  return async (attributes, visit) => {
    const projection = ['pk', 'sk', ...attributes].join(', ');
    const names = [...new Set(projection.match(/[A-Za-z_]+/g))];
    const scanSegment = async (Segment: number): Promise<void> => {
      let start: Record<string, AttributeValue> | undefined;
      do {
        const page = await client.send(
          new ScanCommand({
            TableName,
            ConsistentRead: true,
            TotalSegments: segments,
            Segment,
            // Some names of attributes are reserved words of DynamoDB.
            ProjectionExpression: projection.replaceAll(/[A-Za-z_]+/g, '#$&'),
            ExpressionAttributeNames: Object.fromEntries(names.map((name) => [`#${name}`, name])),
            ExclusiveStartKey: start,
          }),
        );
        await visit((page.Items ?? []).map((item) => unmarshall(item)));
        start = page.LastEvaluatedKey;
      } while (start !== undefined);
    };
    await Promise.all(Array.from({ length: segments }, (_, segment) => scanSegment(segment)));
  };
}

/** The maximum of numbers that one creation takes. A list has one entry for them, with the lowest in its key. */
export const numbersOfCreation = 30;

/** A group has `2 ** groupBits` numbers. To find an offset, a page skips the entries of at most one group. */
const groupBits = 17;

const shardBits = 6;

/** 2^32 over the golden ratio, rounded: consecutive numbers times this differ in their top bits. */
const spreading = 2_654_435_769;

const nameOfCount = (first: number): string =>
  `${Math.floor(first / 2 ** groupBits)}#${Math.imul(first, spreading) >>> (32 - shardBits)}`;

/**
 * Takes consecutive numbers. Later numbers never have an earlier time, even if clocks differ.
 * @returns the first of them, and their time
 */
export async function nextNumbers(
  table: Table,
  clock: Clock,
  Key: Key,
  count: number,
): Promise<{ first: number; at: string }> {
  const add = { Key, ExpressionAttributeNames: { '#id': 'last_id' }, ReturnValues: 'ALL_NEW' } as const;
  const values = { ':count': count };
  const updated = await table.updateIf({
    ...add,
    UpdateExpression: 'SET last_at = :now ADD #id :count',
    ConditionExpression: 'attribute_not_exists(last_at) OR last_at <= :now',
    ExpressionAttributeValues: { ...values, ':now': clock.now().toISOString() },
  });
  // If the condition fails, the stored time is later, and stays.
  const item = updated.isDone
    ? updated.item
    : await table.update({ ...add, UpdateExpression: 'ADD #id :count', ExpressionAttributeValues: values });
  return { first: (item.last_id as number) - count + 1, at: item.last_at as string };
}

export interface CountChange {
  list: ListKeys;
  first: number;
  /** By the attribute of the count's item. `n` counts all numbers, any other attribute a part of them. */
  added: ReadonlyMap<string, number>;
}

/** Each change adds to one of the 64 counts of its group, so that few concurrent writers conflict. */
export function counting(changes: readonly CountChange[]): Write[] {
  const sums = new Map<string, { Key: Key; added: Map<string, number> }>();
  for (const { list, first, added } of changes) {
    const Key = list.count(nameOfCount(first));
    const name = JSON.stringify(Key);
    // A transaction may contain each item only once.
    const sum = sums.get(name) ?? { Key, added: new Map() };
    sums.set(name, sum);
    for (const [part, number] of added) sum.added.set(part, (sum.added.get(part) ?? 0) + number);
  }
  return [...sums.values()].map(({ Key, added }) => ({ Update: { Key, ...adding([...added]) } }));
}

export const adding = (added: readonly (readonly [attribute: string, number: number])[]) => ({
  UpdateExpression: `ADD ${added.map((_, index) => `#p${index} :p${index}`).join(', ')}`,
  ExpressionAttributeNames: Object.fromEntries(added.map(([name], index) => [`#p${index}`, name])),
  ExpressionAttributeValues: Object.fromEntries(added.map(([, number], index) => [`:p${index}`, number])),
});

export async function removeEmptyCounts(table: Table, list: ListKeys): Promise<void> {
  for (const { sk, n } of await table.queryAll(allOf(list.count('')))) {
    if (n !== 0) continue;
    const Delete = { Key: list.count(sk as string), ...ifStill({ n: 0 }) };
    await transactIfFirst(table, () => [{ Delete }]);
  }
}

interface Listed {
  number: number;
  entry: Item;
}

interface Reading {
  count: string;
  /** Ascending. */
  numbersIn(entry: Item): number[];
}

export async function readPage(
  table: Table,
  list: ListKeys,
  page: ListPage,
  reading: Reading,
): Promise<{ total: number; listed: Listed[]; ends: PageEnds }> {
  const groups = await readGroups(table, list, reading.count);
  const total = groups.reduce((sum, [, count]) => sum + count, 0);
  const { listed, hasMore } = await listedOn(table, list, page, { groups, total, reading });
  return {
    ...{ total, listed },
    ends: { hasMore, first: listed[0]?.number ?? null, last: listed.at(-1)?.number ?? null },
  };
}

async function listedOn(
  table: Table,
  list: ListKeys,
  { limit, offset, ascending, cursor }: ListPage,
  { groups, total, reading }: { groups: [number, number][]; total: number; reading: Reading },
): Promise<{ listed: Listed[]; hasMore: boolean }> {
  if (cursor?.isAfter === true && cursor.offset === offset) {
    const bounds = beyond(cursor.id, ascending);
    const listed = await readListed(table, list, reading, bounds, { ascending, skip: 0, most: limit + 1 });
    return { listed: listed.slice(0, limit), hasMore: listed.length > limit };
  }
  if (cursor?.isAfter === false && cursor.offset === offset + limit) {
    const back = { ascending: !ascending, skip: 0, most: limit };
    const listed = await readListed(table, list, reading, beyond(cursor.id, !ascending), back);
    return { listed: listed.reverse(), hasMore: true };
  }
  let skip = offset;
  for (const [group, count] of ascending ? groups : groups.toReversed()) {
    if (skip < count) {
      const bounds = ascending ? { from: group * 2 ** groupBits } : { to: (group + 1) * 2 ** groupBits - 1 };
      const listed = await readListed(table, list, reading, bounds, { ascending, skip, most: limit });
      return { listed, hasMore: offset + limit < total };
    }
    skip -= count;
  }
  return { listed: [], hasMore: false };
}

interface Bounds {
  from?: number;
  to?: number;
  isIn?: (number: number) => boolean;
}

/** The bounds of the numbers after `id`. Its own entry may name some of them too. */
const beyond = (id: number, ascending: boolean): Bounds =>
  ascending
    ? { from: Math.max(id + 1 - numbersOfCreation, 0), isIn: (number) => number > id }
    : { to: id, isIn: (number) => number < id };

async function readListed(
  table: Table,
  list: ListKeys,
  { numbersIn }: Reading,
  { from = 0, to = 2 ** 32, isIn = () => true }: Bounds,
  { ascending, skip, most }: { ascending: boolean; skip: number; most: number },
): Promise<Listed[]> {
  const pages = table.queryPages({
    ...between(list.entry(from), list.entry(to)),
    ScanIndexForward: ascending,
    // Up to `numbersOfCreation` entries may name only numbers outside of the bounds.
    Limit: skip + most + numbersOfCreation,
  });
  const found: Listed[] = [];
  for await (const page of pages) {
    for (const entry of page) {
      const numbers = numbersIn(entry).filter(isIn);
      for (const number of ascending ? numbers : numbers.reverse()) found.push({ number, entry });
    }
    if (found.length >= skip + most) break;
  }
  return found.slice(skip, skip + most);
}

async function readGroups(table: Table, list: ListKeys, attribute: string): Promise<[number, number][]> {
  const counts = new Map<number, number>();
  for (const { sk, [attribute]: count } of await table.queryAll(allOf(list.count('')))) {
    const group = Number.parseInt(sk as string, 10);
    counts.set(group, (counts.get(group) ?? 0) + ((count as number | undefined) ?? 0));
  }
  return [...counts].sort(([one], [other]) => one - other);
}
