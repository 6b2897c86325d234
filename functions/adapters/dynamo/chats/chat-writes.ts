import { keys, type ListKeys } from '#adapters/dynamo/table/keys.ts';
import { type CountChange, counting, nextNumbers } from '#adapters/dynamo/table/lists.ts';
import type { Item, Table, Write } from '#adapters/dynamo/table/table.ts';
import { batchIdIn, type Chat, type Lease } from '#domain/chats/chat.ts';
import type { NewChat } from '#domain/chats/chat-store.ts';
import { lastChatId } from '#domain/chats/message.ts';
import type { Clock } from '#domain/platform/clock.ts';
import { NotStorable } from '#domain/platform/not-storable.ts';
import { chatItem } from './chat-item.ts';

type Listed = Pick<Chat, 'workspaceId' | 'id' | 'agentId' | 'externalUserId'>;

/** A list, and those chats of one creation that it has. A user's list names the chats by their agents. */
interface ListedChats {
  list: ListKeys;
  isByAgent: boolean;
  chats: Listed[];
}

function listsOf(chats: readonly Listed[]): ListedChats[] {
  const lists = new Map<string, ListedChats>();
  for (const chat of chats) {
    const { workspaceId, agentId, externalUserId } = chat;
    const kinds = externalUserId === null ? [{}, { agentId }] : [{}, { agentId }, { externalUserId }];
    for (const kind of kinds) {
      const list = keys.chatList(workspaceId, kind);
      const { pk } = list.entry(0);
      const found = lists.get(pk) ?? { list, isByAgent: 'externalUserId' in kind, chats: [] };
      lists.set(pk, found);
      found.chats.push(chat);
    }
  }
  return [...lists.values()];
}

/** The entry of a creation. It names its only chat by its key alone. */
function entryOf({ list, isByAgent, chats }: ListedChats, first: number): Item {
  const ids = chats.map(({ id }) => id);
  if (!isByAgent) return { ...list.entry(first), ...(!(ids.length === 1 && ids[0] === first) && { ids }) };
  const byAgent = Map.groupBy(chats, ({ agentId }) => agentId);
  return {
    ...list.entry(first),
    by_agent: Object.fromEntries([...byAgent].map(([agent, own]) => [agent, own.map(({ id }) => id)])),
  };
}

/** @param agentId those of one agent alone */
export function idsIn({ sk, ids, by_agent: byAgent }: Item, agentId?: string): number[] {
  if (byAgent === undefined) return (ids as number[] | undefined) ?? [Number(sk)];
  return Object.entries(byAgent as Record<string, number[]>)
    .flatMap(([agent, own]) => (agentId === undefined || agent === agentId ? own : []))
    .sort((one, other) => one - other);
}

function countChange({ list, isByAgent, chats }: ListedChats, first: number, sign: 1 | -1): CountChange {
  const added = new Map([['n', sign * chats.length]]);
  if (isByAgent) for (const { agentId } of chats) added.set(agentId, (added.get(agentId) ?? 0) + sign);
  return { list, first, added };
}

export interface PlannedChats {
  chats: Chat[];
  /** No condition of them fails. They write a chat, and in each of its lists an entry and a count. */
  writes: Write[];
}

/**
 * Gives new chats of one workspace the next ids, and plans the writes that create them. An id whose writes fail is not
 * used again.
 * @param newChats at most 30: they share the entries of their lists
 */
export async function planChats(
  table: Table,
  clock: Clock,
  newChats: readonly (NewChat & { lease: Lease | null })[],
): Promise<PlannedChats> {
  const [one] = newChats;
  if (one === undefined) return { chats: [], writes: [] };
  const { workspaceId } = one;
  const Key = keys.lastNumber(workspaceId, 'CHATS');
  const { first, at } = await nextNumbers(table, clock, Key, newChats.length);
  if (first + newChats.length - 1 > lastChatId)
    throw new NotStorable(`Workspace ${workspaceId} is full: it holds at most ${lastChatId} chats`);
  const chats = newChats.map(
    (newChat, index): Chat => ({
      ...newChat,
      id: first + index,
      createdAt: at,
      updatedAt: at,
      messageCount: 0,
      ...(newChat.lease !== null && { batchId: batchIdIn(newChat.lease.id) }),
    }),
  );
  const lists = listsOf(chats);
  const items = [
    ...chats.map((chat) => chatItem(chat, first)),
    ...lists.map((listed) => entryOf(listed, first)),
  ];
  const counts = lists.map((listed) => countChange(listed, first, 1));
  return { chats, writes: [...items.map((Item) => ({ Put: { Item } })), ...counting(counts)] };
}

/** A chat that is to be deleted, and the first id of its entries. */
export interface DeletedChat {
  chat: Chat;
  first: number;
}

/**
 * The writes that take chats out of their lists. Their conditions fail if another chat was taken out of one of the entries
 * meanwhile. The caller deletes the chats themselves, in the same transaction.
 */
export async function planRemoval(table: Table, deleted: readonly DeletedChat[]): Promise<Write[]> {
  const removals = [...Map.groupBy(deleted, ({ first }) => first)].flatMap(([first, ofCreation]) =>
    listsOf(ofCreation.map(({ chat }) => chat)).map((listed) => ({ listed, first })),
  );
  const entries = await Promise.all(removals.map(({ listed, first }) => table.get(listed.list.entry(first))));
  return [
    ...removals.map(({ listed, first }, index) => removing(listed, first, entries[index])),
    ...counting(removals.map(({ listed, first }) => countChange(listed, first, -1))),
  ];
}

function removing({ list, isByAgent, chats }: ListedChats, first: number, entry: Item = {}): Write {
  const removed = new Set(chats.map(({ id }) => id));
  const without = (ids: number[]) => ids.filter((id) => !removed.has(id));
  const before = entry[isByAgent ? 'by_agent' : 'ids'] as Record<string, number[]> | number[] | undefined;
  const after = Array.isArray(before)
    ? without(before)
    : Object.fromEntries(
        Object.entries(before ?? {})
          .map(([agent, ids]) => [agent, without(ids)] as const)
          .filter(([, ids]) => ids.length > 0),
      );
  const isEmpty = Object.keys(after).length === 0;
  // Also for a deletion: reads are not isolated from a running transaction, so the entry may be one that was not there.
  const asRead = {
    Key: list.entry(first),
    ConditionExpression: before === undefined ? 'attribute_not_exists(#ids)' : '#ids = :before',
    ExpressionAttributeNames: { '#ids': isByAgent ? 'by_agent' : 'ids' },
  };
  const values = { ...(before !== undefined && { ':before': before }), ...(!isEmpty && { ':after': after }) };
  const ExpressionAttributeValues = Object.keys(values).length === 0 ? undefined : values;
  return isEmpty
    ? { Delete: { ...asRead, ...(ExpressionAttributeValues && { ExpressionAttributeValues }) } }
    : { Update: { ...asRead, UpdateExpression: 'SET #ids = :after', ExpressionAttributeValues: values } };
}
