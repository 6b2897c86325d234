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
  /** Whether something of the list was deleted. */
  hasGone: boolean;
}

/** The list indexes `first` to `last`, both included. */
export const listIndexes = (first: number, last: number): number[] =>
  Array.from({ length: Math.max(last - first + 1, 0) }, (_, ahead) => first + ahead);

export async function readHead<Kind extends Id>(table: Table, list: ListKeys): Promise<ListHead<Kind>> {
  const item = await table.get(list.head);
  return {
    list,
    count: (item?.count as number | undefined) ?? 0,
    newestIds: (item?.newest_ids as Kind[] | undefined) ?? [],
    hasGone: item?.has_gone === true,
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
 * The ids at the given list indexes, in their order. Each chunk is a small item, so a page of n ids in a row reads at
 * most n / 100 + 2 of them, at any offset.
 */
export function readIds<Kind extends Id>(
  table: Table,
  head: ListHead<Kind>,
  indexes: readonly number[],
): Promise<Kind[]> {
  const firstInHead = head.count - head.newestIds.length;
  const chunks = new Map<number, Promise<Item>>();
  const idAt = async (index: number): Promise<Kind> => {
    if (index >= firstInHead) return head.newestIds[index - firstInHead] as Kind;
    const chunk = Math.floor(index / idsPerChunk);
    const reading = chunks.get(chunk) ?? table.getNamed(head.list.chunk(chunk));
    chunks.set(chunk, reading);
    return ((await reading).ids as Kind[])[index % idsPerChunk] as Kind;
  };
  return Promise.all(indexes.map(idAt));
}

/**
 * The list index of an id of a list with ascending ids, by binary search over the chunks.
 * @throws Error if the list does not have the id
 */
export async function findIndex(table: Table, head: ListHead<number>, id: number): Promise<number> {
  const firstInHead = head.count - head.newestIds.length;
  const inHead = head.newestIds.indexOf(id);
  if (inHead >= 0) return firstInHead + inHead;
  let [low, high] = [0, firstInHead / idsPerChunk - 1];
  while (low <= high) {
    const chunk = Math.floor((low + high) / 2);
    const { ids } = (await table.getNamed(head.list.chunk(chunk))) as { ids: number[] };
    const inChunk = ids.indexOf(id);
    if (inChunk >= 0) return chunk * idsPerChunk + inChunk;
    if (id < (ids[0] ?? 0)) high = chunk - 1;
    else low = chunk + 1;
  }
  throw new Error(`The list ${head.list.head.pk} does not have the id ${id}`);
}
