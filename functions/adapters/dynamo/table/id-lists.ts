import type { ListKeys } from './keys.ts';
import type { Item, Table, Write } from './table.ts';

/** Chats have numbers as ids, batches have UUIDs. */
type Id = number | string;

/**
 * Ids per item. 100 numbers of at most 10 digits (7 bytes each with their type) are 700 bytes: with a user of up to 200
 * bytes in its key, the item costs one write unit. 100 UUIDs cost four.
 */
const idsPerChunk = 100;

/**
 * The head of a list stores its newest ids. As soon as the head would have more than 100, the oldest 100 move to a new
 * chunk.
 */
export interface ListHead<Kind extends Id> {
  list: ListKeys;
  count: number;
  newestIds: Kind[];
}

export async function readHead<Kind extends Id>(table: Table, list: ListKeys): Promise<ListHead<Kind>> {
  const item = await table.get(list.head);
  return {
    list,
    count: (item?.count as number | undefined) ?? 0,
    newestIds: (item?.newest_ids as Kind[] | undefined) ?? [],
  };
}

/** The writes that append ids. Their condition fails if another caller has appended since the head was read. */
export function appending<Kind extends Id>(
  TableName: string,
  { list, count, newestIds }: ListHead<Kind>,
  ids: readonly Kind[],
): Write[] {
  const stored = [...newestIds, ...ids];
  const chunks: Write[] = [];
  for (
    let chunk = Math.floor((count - newestIds.length) / idsPerChunk);
    stored.length > idsPerChunk;
    chunk += 1
  )
    chunks.push({ Put: { TableName, Item: { ...list.chunk(chunk), ids: stored.splice(0, idsPerChunk) } } });
  return [
    {
      // An update, so that attributes that this version does not know stay.
      Update: {
        TableName,
        Key: list.head,
        UpdateExpression: 'SET #count = :after, newest_ids = :ids',
        ConditionExpression: count === 0 ? 'attribute_not_exists(#count)' : '#count = :before',
        ExpressionAttributeNames: { '#count': 'count' },
        ExpressionAttributeValues: {
          ':after': count + ids.length,
          ':ids': stored,
          ...(count > 0 && { ':before': count }),
        },
      },
    },
    ...chunks,
  ];
}

/**
 * The ids at the list indexes `first` to `last`, both included and counted from 0, in ascending order. A page of n ids
 * reads at most n / 100 + 2 small items, at any offset.
 */
export async function readIds<Kind extends Id>(
  table: Table,
  head: ListHead<Kind>,
  first: number,
  last: number,
): Promise<Kind[]> {
  const firstInHead = head.count - head.newestIds.length;
  const chunks: number[] = [];
  for (
    let chunk = Math.floor(first / idsPerChunk);
    chunk * idsPerChunk < Math.min(last + 1, firstInHead);
    chunk += 1
  )
    chunks.push(chunk);
  const items = await Promise.all(chunks.map((chunk) => table.getNamed(head.list.chunk(chunk))));
  const start = (chunks[0] ?? firstInHead / idsPerChunk) * idsPerChunk;
  return [...items.flatMap((item: Item) => item.ids as Kind[]), ...head.newestIds].slice(
    first - start,
    last - start + 1,
  );
}
