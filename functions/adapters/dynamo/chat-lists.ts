import { type ChatListKind, keys } from './keys.ts';
import type { Item, Table, Write } from './table.ts';

/**
 * Ids in an item of a list: 100 numbers of at most 10 digits (7 bytes with their type) are 700 bytes, so that with a
 * user of up to 200 bytes in its key the item is one write unit.
 */
const idsPerChunk = 100;

/** The newest ids of a list stand in its head; as soon as it has 100 of them they move to a chunk of their own. */
export interface ChatListHead {
  list: ChatListKind;
  count: number;
  newestIds: number[];
}

export async function readHead(table: Table, workspaceId: string, list: ChatListKind): Promise<ChatListHead> {
  const item = await table.get(keys.chatListHead(workspaceId, list));
  return {
    list,
    count: (item?.count as number | undefined) ?? 0,
    newestIds: (item?.newest_ids as number[] | undefined) ?? [],
  };
}

/** The writes that append an id, which hold only if nobody else has appended since the head was read. */
export function appending(TableName: string, workspaceId: string, head: ChatListHead, id: number): Write[] {
  const isFull = head.newestIds.length === idsPerChunk;
  const Item = {
    ...keys.chatListHead(workspaceId, head.list),
    count: head.count + 1,
    newest_ids: isFull ? [id] : [...head.newestIds, id],
  };
  const write: Write = {
    Put: {
      TableName,
      Item,
      ...(head.count === 0
        ? { ConditionExpression: 'attribute_not_exists(pk)' }
        : {
            ConditionExpression: '#count = :count',
            ExpressionAttributeNames: { '#count': 'count' },
            ExpressionAttributeValues: { ':count': head.count },
          }),
    },
  };
  if (!isFull) return [write];
  const chunk = head.count / idsPerChunk - 1;
  return [
    write,
    {
      Put: {
        TableName,
        Item: { ...keys.chatListChunk(workspaceId, head.list, chunk), ids: head.newestIds },
      },
    },
  ];
}

/**
 * The ids at the places first to last (counted from 0) of a list, ascending. A page of n ids reads at most
 * n / 100 + 2 small items, wherever in the list it is.
 */
export async function readIds(
  table: Table,
  workspaceId: string,
  head: ChatListHead,
  first: number,
  last: number,
): Promise<number[]> {
  const firstInHead = head.count - head.newestIds.length;
  const chunks: number[] = [];
  for (
    let chunk = Math.floor(first / idsPerChunk);
    chunk * idsPerChunk < Math.min(last + 1, firstInHead);
    chunk += 1
  )
    chunks.push(chunk);
  const items = await Promise.all(
    chunks.map((chunk) => table.getNamed(keys.chatListChunk(workspaceId, head.list, chunk))),
  );
  const start = (chunks[0] ?? firstInHead / idsPerChunk) * idsPerChunk;
  return [...items.flatMap(idsOf), ...head.newestIds].slice(first - start, last - start + 1);
}

const idsOf = (item: Item): number[] => item.ids as number[];
