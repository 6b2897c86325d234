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

const leafOf = (index: number): number => Math.floor(index / indexesPerLeaf);

const isGone = (bits: Uint8Array, bit: number): boolean => (((bits[bit >> 3] ?? 0) >> (bit & 7)) & 1) === 1;

/** The bytes with at least the given length. A longer list keeps its bytes. */
function copied(bytes: Uint8Array, length: number): Uint8Array {
  const copy = new Uint8Array(Math.max(bytes.length, length));
  copy.set(bytes);
  return copy;
}

/**
 * The writes that mark a list index as gone. Their conditions fail if another index of the list was marked meanwhile.
 * Root and leaf have a condition each, because reads may see one half of a transaction.
 */
export async function markingGone(
  table: Table,
  list: ListKeys,
  index: number,
): Promise<(TableName: string) => Write[]> {
  const leaf = leafOf(index);
  const [root, stored] = await Promise.all([readGoneRoot(table, list), table.get(list.goneLeaf(leaf))]);
  const bit = index % indexesPerLeaf;
  const bits = copied(bytesOf(stored?.bits), (bit >> 3) + 1);
  bits[bit >> 3] = (bits[bit >> 3] ?? 0) | (1 << (bit & 7));
  const marked = (stored?.gone as number | undefined) ?? 0;
  const count = marked + 1;
  const counts = copied(root.counts, 2 * leaf + 2);
  counts.set([count % 256, Math.floor(count / 256)], 2 * leaf);
  return (TableName) => [
    {
      Update: {
        TableName,
        Key: list.goneRoot,
        UpdateExpression: 'SET gone = :after, highest = :highest, counts = :counts',
        ConditionExpression: root.total === 0 ? 'attribute_not_exists(gone)' : 'gone = :before',
        ExpressionAttributeValues: {
          ':after': root.total + 1,
          ':highest': Math.max(root.highest, index),
          ':counts': textOf(counts),
          ...(root.total > 0 && { ':before': root.total }),
        },
      },
    },
    {
      Put: {
        TableName,
        Item: { ...list.goneLeaf(leaf), gone: marked + 1, bits: textOf(bits) },
        ConditionExpression: marked === 0 ? 'attribute_not_exists(pk)' : 'gone = :before',
        ...(marked > 0 && { ExpressionAttributeValues: { ':before': marked } }),
      },
    },
  ];
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
