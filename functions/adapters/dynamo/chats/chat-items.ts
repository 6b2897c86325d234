import { isDeepStrictEqual } from 'node:util';
import { keys, type ListKeys } from '#adapters/dynamo/table/keys.ts';
import { type CountChange, counting, nextNumbers, removeEmptyCounts } from '#adapters/dynamo/table/lists.ts';
import {
  attributesNamed,
  changing,
  changingIf,
  type Item,
  ifStill,
  type Table,
  type Write,
} from '#adapters/dynamo/table/table.ts';
import { transactWithRetry } from '#adapters/dynamo/table/transact-with-retry.ts';
import type { Metadata } from '#contract/metadata.ts';
import { batchIdIn, type Chat, type ChatDeletion, type Lease, type NewChat } from '#domain/chats/chat.ts';
import { lastChatId } from '#domain/chats/message.ts';
import { NotStorable } from '#domain/platform/failures.ts';
import type { Clock } from '#domain/platform/services.ts';
import { purgeItem } from './purge-outbox.ts';

export const leaseItem = (lease: Chat['lease']): Item => ({ lease_id: lease?.id, lease_until: lease?.until });

/** As one JSON text, because marshalling may fail for an object that has the key `constructor`. */
export const metadataItem = (metadata: Metadata | undefined): Item => ({
  metadata: metadata && JSON.stringify(metadata),
});

export const metadataOf = ({ metadata }: Item): { metadata?: Metadata } =>
  metadata === undefined ? {} : { metadata: JSON.parse(metadata as string) };

const chats = attributesNamed<Omit<Chat, 'lease' | 'batchId' | 'metadata'>>({
  id: ['id'],
  workspaceId: ['workspace_id'],
  agentId: ['agent_id'],
  name: ['name'],
  externalUserId: ['external_user_id', null],
  createdAt: ['created_at'],
  updatedAt: ['updated_at'],
  messageCount: ['message_count'],
});

/** @param entry the first id of the creation, which is in the keys of the list entries */
export const chatItem = (chat: Chat, entry: number): Item => ({
  ...keys.chat(chat.workspaceId, chat.id),
  ...chats.itemOf(chat),
  ...leaseItem(chat.lease),
  ...metadataItem(chat.metadata),
  entry,
  // Only the claim of a batch request creates a chat under a lease. The lease id names the request.
  ...(chat.lease !== null && { created_for: chat.lease.id }),
});

/** `stop_lease` stays in the item after its lease has ended. */
const leaseOf = ({ lease_id: id, lease_until: until, stop_lease: stopped }: Item): Chat['lease'] =>
  id === undefined
    ? null
    : { id: id as string, until: until as number, ...(stopped === id && { isStopped: true }) };

export const chatOf = (item: Item): Chat => ({
  ...chats.fieldsOf(item),
  lease: leaseOf(item),
  ...metadataOf(item),
  ...(item.created_for !== undefined && { batchId: batchIdIn(item.created_for as string) }),
});

export const releasing = (chat: Chat, leaseId: string, messageCount: number) => ({
  Key: keys.chat(chat.workspaceId, chat.id),
  ...changing(
    { message_count: messageCount, lease_id: null, lease_until: null },
    { ':lease': leaseId, ':before': chat.messageCount },
  ),
  ConditionExpression: 'lease_id = :lease OR (attribute_not_exists(lease_id) AND message_count = :before)',
});

type Listed = Pick<Chat, 'workspaceId' | 'id' | 'agentId' | 'externalUserId'>;

/** Chats of one creation in a list. `isByAgent`: it is a user's list, whose entries group the chats by agent. */
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

/** Without `ids` and `by_agent`, an entry names the chat with the first id. */
function entryOf({ list, isByAgent, chats }: ListedChats, first: number): Item {
  const ids = chats.map(({ id }) => id);
  if (!isByAgent) return { ...list.entry(first), ...(!(ids.length === 1 && ids[0] === first) && { ids }) };
  const byAgent = Map.groupBy(chats, ({ agentId }) => agentId);
  return {
    ...list.entry(first),
    by_agent: Object.fromEntries([...byAgent].map(([agent, own]) => [agent, own.map(({ id }) => id)])),
  };
}

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

/**
 * The ids are taken even if the writes fail. None of the writes has a condition.
 * @param newChats of one workspace, at most `numbersOfCreation`
 * @throws NotStorable if the workspace has too few ids left
 */
export async function planChats(
  table: Table,
  clock: Clock,
  newChats: readonly (NewChat & { lease: Lease | null })[],
): Promise<{ chats: Chat[]; writes: Write[] }> {
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

/** Only the writes in lists: the caller deletes the chats themselves, in the same transaction. */
async function planRemoval(table: Table, deleted: readonly Found[]): Promise<Write[]> {
  const creations = Map.groupBy(deleted, ({ item }) => item.entry as number);
  const removals = [...creations].flatMap(([first, ofCreation]) =>
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
  const Key = list.entry(first);
  const attribute = isByAgent ? 'by_agent' : 'ids';
  const before = entry[attribute] as Record<string, number[]> | number[] | undefined;
  const after = Array.isArray(before)
    ? without(before)
    : Object.fromEntries(
        Object.entries(before ?? {})
          .map(([agent, ids]) => [agent, without(ids)] as const)
          .filter(([, ids]) => ids.length > 0),
      );
  const isEmpty = Object.keys(after).length === 0;
  // The Delete has this condition too: during another transaction, the read may have missed the entry.
  const asRead = { [attribute]: before };
  return isEmpty
    ? { Delete: { Key, ...ifStill(asRead) } }
    : { Update: { Key, ...changingIf({ [attribute]: after }, asRead) } };
}

/** The pauses between the attempts take about 15 s on average. */
const attempts = 100;

/**
 * A transaction may have 100 writes, and a chat needs up to eight: its deletion, its purge, and two in each of three
 * lists.
 */
const chatsAtOnce = 12;

export const dynamoChatDeletion = (table: Table): ChatDeletion => ({
  delete: (chats, deletedAt) => deleteChats(table, chats, deletedAt, { unchanged: false }),
  deleteUnchanged: (chats, deletedAt) => deleteChats(table, chats, deletedAt, { unchanged: true }),
  removeCounts: ({ workspaceId, externalUserId }) =>
    removeEmptyCounts(table, keys.chatList(workspaceId, { externalUserId })),
});

async function deleteChats(
  table: Table,
  chats: readonly Chat[],
  deletedAt: string,
  only: { unchanged: boolean },
): Promise<Chat[]> {
  const deleted: Chat[] = [];
  for (let done = 0; done < chats.length; ) {
    let conflicts = 0;
    const { taken, found } = await transactWithRetry(table, {
      attempts,
      plan: async () => {
        // Later attempts have a lower maximum, because the counts of each chat may conflict with other writers.
        const chosen = chats.slice(done, done + Math.ceil(chatsAtOnce / (1 + conflicts)));
        conflicts += 1;
        const result = { taken: chosen.length, found: await readChats(table, chosen, only) };
        return { writes: await deleting(table, result.found, deletedAt, only), result };
      },
    });
    deleted.push(...found.map(({ chat }) => chat));
    done += taken;
  }
  return deleted;
}

interface Found {
  chat: Chat;
  item: Item;
}

async function readChats(
  table: Table,
  chats: readonly Chat[],
  { unchanged }: { unchanged: boolean },
): Promise<Found[]> {
  const items = await Promise.all(chats.map(({ workspaceId, id }) => table.get(keys.chat(workspaceId, id))));
  return items.flatMap((item, index) => {
    if (item === undefined) return [];
    const chat = chatOf(item);
    return unchanged && !isDeepStrictEqual(chat, chats[index]) ? [] : [{ chat, item }];
  });
}

async function deleting(
  table: Table,
  found: readonly Found[],
  deletedAt: string,
  { unchanged }: { unchanged: boolean },
): Promise<Write[]> {
  return [
    ...found.flatMap(({ chat, item }) => [
      {
        Delete: {
          Key: keys.chat(chat.workspaceId, chat.id),
          ...(unchanged ? isAsRead(chat) : { ConditionExpression: 'attribute_exists(agent_id)' }),
        },
      },
      { Put: { Item: purgeItem({ workspaceId: chat.workspaceId, chatId: chat.id, deletedAt }, item) } },
    ]),
    ...(await planRemoval(table, found)),
  ];
}

const isAsRead = ({ updatedAt, messageCount, lease }: Chat) =>
  ifStill({ updated_at: updatedAt, message_count: messageCount, ...leaseItem(lease) });
