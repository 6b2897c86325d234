import { isDeepStrictEqual } from 'node:util';
import type { ListKeys } from '#adapters/dynamo/table/keys.ts';
import type { StoredItem } from './snapshot.ts';
import { nameOf, type StoredItems } from './stored-items.ts';

/** A chat or a batch in a list. */
export interface ListedRow {
  list: ListKeys;
  id: number;
  /** The lowest number of its creation. */
  first: number;
  /** Of an agent, in the counts of a user. */
  part?: string;
}

/** Compares the entries and counts of lists with what must be in them. */
export function recountLists(
  items: StoredItems,
  rows: readonly ListedRow[],
  stored: { entries: readonly StoredItem[]; counts: readonly StoredItem[] },
  content: { of(entry: StoredItem): unknown; with(rows: readonly ListedRow[]): unknown },
): string[] {
  const entries = Map.groupBy(rows, ({ list, first }) => nameOf(list.entry(first)));
  const counts = Map.groupBy(rows, ({ list, first }) => nameOf(list.count(countNameOf(first))));
  const problems: string[] = [];
  for (const name of new Set([...entries.keys(), ...stored.entries.map(nameOf)])) {
    const own = (entries.get(name) ?? []).toSorted((one, other) => one.id - other.id);
    const entry = items.named(name);
    const found = entry && content.of(entry);
    const wanted = own.length === 0 ? undefined : content.with(own);
    if (!isDeepStrictEqual(found, wanted))
      problems.push(`The entry ${name} has ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`);
  }
  for (const name of new Set([...counts.keys(), ...stored.counts.map(nameOf)])) {
    const own = counts.get(name) ?? [];
    const wanted: Record<string, number> = { n: own.length };
    for (const { part } of own) if (part !== undefined) wanted[part] = (wanted[part] ?? 0) + 1;
    const { pk, sk, ...found } = items.named(name) ?? {};
    const positive = Object.entries(found).filter(([, count]) => count !== 0);
    const isRight = Object.entries(wanted).every(([part, count]) => (found[part] ?? 0) === count);
    if (!isRight || positive.length !== Object.values(wanted).filter((count) => count > 0).length)
      problems.push(`The count ${name} is ${JSON.stringify(found)}; there are ${JSON.stringify(wanted)}`);
  }
  return problems;
}

/** The name of the count of a creation: its group of 2^17, and the top 6 bits of its number, spread. */
const countNameOf = (first: number): string =>
  `${Math.floor(first / 131_072)}#${Number(((BigInt(first) * 2_654_435_769n) % 2n ** 32n) >> 26n)}`;
