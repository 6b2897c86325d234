import { listIndexes } from './id-lists.ts';
import type { Key, ListKeys } from './keys.ts';
import type { Table, Write } from './table.ts';

/**
 * List indexes of one leaf, a bitmap of at most 1,000 bytes: a read costs one unit, a write two. The root counts a leaf
 * in two bytes. So one read unit (4 KB) is enough for the root of a list of 12 million ids. Bytes are stored in base64,
 * because the item client has no binary attributes.
 */
const indexesPerLeaf = 8000;

/** The root over the leaves of a list. */
export interface GoneRoot {
  total: number;
  /** The highest list index that is gone; -1 if none is. */
  highest: number;
  /** The number of gone indexes of each leaf, two bytes each, the low one first. */
  counts: Uint8Array;
}

export async function readGoneRoot(table: Table, list: ListKeys): Promise<GoneRoot> {
  const item = await table.get(list.goneRoot);
  return {
    total: (item?.gone as number | undefined) ?? 0,
    highest: (item?.highest as number | undefined) ?? -1,
    counts: bytesOf(item?.counts),
  };
}

const bytesOf = (text: unknown): Uint8Array => Buffer.from((text as string | undefined) ?? '', 'base64');
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

const countOf = ({ counts }: GoneRoot, leaf: number): number =>
  (counts[2 * leaf] ?? 0) + 256 * (counts[2 * leaf + 1] ?? 0);

export const leafOf = (index: number): number => Math.floor(index / indexesPerLeaf);

const isGone = (bits: Uint8Array, bit: number): boolean => (((bits[bit >> 3] ?? 0) >> (bit & 7)) & 1) === 1;

/** The bytes with at least the given length. A longer list keeps its bytes. */
function copied(bytes: Uint8Array, length: number): Uint8Array {
  const copy = new Uint8Array(Math.max(bytes.length, length));
  copy.set(bytes);
  return copy;
}

/**
 * The writes that mark list indexes as gone: the root's, and one for each leaf. Their conditions fail if another index of
 * the list was marked meanwhile. Root and leaves have a condition each, because reads may see one half of a transaction.
 */
export async function markingGone(
  table: Table,
  list: ListKeys,
  indexes: readonly number[],
): Promise<(TableName: string) => Write[]> {
  const numbers = [...new Set(indexes.map(leafOf))];
  const [root, ...leaves] = await Promise.all([
    readGoneRoot(table, list),
    ...numbers.map((leaf) => readLeaf(table, list, leaf)),
  ]);
  let { counts } = root;
  const marked = leaves.map((leaf) => {
    const bits = indexes
      .filter((index) => leafOf(index) === leaf.number)
      .map((index) => index % indexesPerLeaf);
    const count = leaf.gone + bits.length;
    counts = copied(counts, 2 * leaf.number + 2);
    counts.set([count % 256, Math.floor(count / 256)], 2 * leaf.number);
    return { ...leaf, count, bits: withBits(leaf.bits, bits) };
  });
  return (TableName) => [
    {
      Update: {
        TableName,
        Key: list.goneRoot,
        UpdateExpression: 'SET gone = :after, highest = :highest, counts = :counts',
        ConditionExpression: root.total === 0 ? 'attribute_not_exists(gone)' : 'gone = :before',
        ExpressionAttributeValues: {
          ':after': root.total + indexes.length,
          ':highest': Math.max(root.highest, ...indexes),
          ':counts': textOf(counts),
          ...(root.total > 0 && { ':before': root.total }),
        },
      },
    },
    ...marked.map(({ number, gone, count, bits }) => ({
      Put: {
        TableName,
        Item: { ...list.goneLeaf(number), gone: count, bits: textOf(bits) },
        ConditionExpression: gone === 0 ? 'attribute_not_exists(pk)' : 'gone = :before',
        ...(gone > 0 && { ExpressionAttributeValues: { ':before': gone } }),
      },
    })),
  ];
}

async function readLeaf(table: Table, list: ListKeys, number: number) {
  const item = await table.get(list.goneLeaf(number));
  return { number, gone: (item?.gone as number | undefined) ?? 0, bits: bytesOf(item?.bits) };
}

function withBits(before: Uint8Array, bits: readonly number[]): Uint8Array {
  const after = copied(before, (Math.max(...bits) >> 3) + 1);
  for (const bit of bits) after[bit >> 3] = (after[bit >> 3] ?? 0) | (1 << (bit & 7));
  return after;
}

/**
 * The list indexes of the living ids number `first` to `last`, both included and counted from 0. Reads those leaves
 * alone in which a part of them is gone. Fewer indexes if more was deleted since the root was read.
 */
export async function livingIndexes(
  table: Table,
  { list, count }: { list: ListKeys; count: number },
  root: GoneRoot,
  first: number,
  last: number,
): Promise<number[]> {
  const parts: Promise<number[]>[] = [];
  let skip = first;
  let wanted = last - first + 1;
  for (let leaf = 0; wanted > 0 && leaf * indexesPerLeaf < count; leaf += 1) {
    const start = leaf * indexesPerLeaf;
    const size = Math.min(indexesPerLeaf, count - start);
    const living = size - countOf(root, leaf);
    if (skip < living) {
      const taken = Math.min(living - skip, wanted);
      parts.push(
        livingInLeaf(table, living === size ? undefined : list.goneLeaf(leaf), { start, size, skip, taken }),
      );
      wanted -= taken;
    }
    skip = Math.max(skip - living, 0);
  }
  return (await Promise.all(parts)).flat();
}

async function livingInLeaf(
  table: Table,
  key: Key | undefined,
  { start, size, skip, taken }: { start: number; size: number; skip: number; taken: number },
): Promise<number[]> {
  if (key === undefined) return listIndexes(start + skip, start + skip + taken - 1);
  const bits = bytesOf((await table.get(key))?.bits);
  const found: number[] = [];
  for (let bit = 0, living = 0; bit < size && found.length < taken; bit += 1) {
    if (isGone(bits, bit)) continue;
    living += 1;
    if (living > skip) found.push(start + bit);
  }
  return found;
}
