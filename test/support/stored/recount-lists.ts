import { isDeepStrictEqual } from 'node:util';
import type { ListKeys } from '#adapters/dynamo/table/keys.ts';
import type { StoredItem } from './snapshot.ts';
import { nameOf, type StoredItems } from './stored-items.ts';

/** A chat or a batch in a list. */
export interface ListedItem {
  list: ListKeys;
  id: number;
  /** The lowest number of its creation. */
  first: number;
  /** Of an agent, in the counts of a user. */
  part?: string;
}

type Content = { of(entry: StoredItem): unknown; with(listed: readonly ListedItem[]): unknown };

/** Compares the entries and counts of lists with what must be in them. */
export const recountLists = (
  items: StoredItems,
  listed: readonly ListedItem[],
  stored: { entries: readonly StoredItem[]; counts: readonly StoredItem[] },
  content: Content,
): string[] => [
  ...checkEntries(items, listed, stored.entries, content),
  ...checkCounts(items, listed, stored.counts),
];

function checkEntries(
  items: StoredItems,
  listed: readonly ListedItem[],
  stored: readonly StoredItem[],
  content: Content,
): string[] {
  const expected = Map.groupBy(listed, ({ list, first }) => nameOf(list.entry(first)));
  return [...new Set([...expected.keys(), ...stored.map(nameOf)])].flatMap((name) => {
    const own = (expected.get(name) ?? []).toSorted((one, other) => one.id - other.id);
    const entry = items.named(name);
    const found = entry && content.of(entry);
    const wanted = own.length === 0 ? undefined : content.with(own);
    return isDeepStrictEqual(found, wanted)
      ? []
      : [`The entry ${name} has ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`];
  });
}

function checkCounts(
  items: StoredItems,
  listed: readonly ListedItem[],
  stored: readonly StoredItem[],
): string[] {
  const expected = Map.groupBy(listed, ({ list, first }) => nameOf(list.count(countNameOf(first))));
  return [...new Set([...expected.keys(), ...stored.map(nameOf)])].flatMap((name) => {
    const own = expected.get(name) ?? [];
    const wanted = new Map<string, unknown>(own.length === 0 ? [] : [['n', own.length]]);
    for (const { part } of own) if (part !== undefined) wanted.set(part, Number(wanted.get(part) ?? 0) + 1);
    const counts = Object.entries(items.named(name) ?? {}).filter(([key]) => key !== 'pk' && key !== 'sk');
    const found = new Map<string, unknown>(counts.filter(([, count]) => count !== 0));
    return isDeepStrictEqual(found, wanted)
      ? []
      : [`The count ${name} is ${textOf(found)}; there are ${textOf(wanted)}`];
  });
}

const textOf = (counts: ReadonlyMap<string, unknown>): string => JSON.stringify(Object.fromEntries(counts));

/** The name of the count of a creation: its group of 2^17, and the top 6 bits of its number, spread. */
const countNameOf = (first: number): string =>
  `${Math.floor(first / 131_072)}#${Number(((BigInt(first) * 2_654_435_769n) % 2n ** 32n) >> 26n)}`;
