import { isDeepStrictEqual } from 'node:util';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { type ListedItem, recountLists } from './recount-lists.ts';
import type { StoredItem } from './snapshot.ts';
import type { StoredItems } from './stored-items.ts';

/** Checks chats against their numbers, their lists and their messages, and feedback against its counts. */
export function recountChats(items: StoredItems): string[] {
  const chats = items.like(/^W#([^#]+)#C#(\d+)$/, /^CHAT$/);
  return [
    ...recountNumbers(items, chats),
    ...recountListsOfChats(items),
    ...chats.flatMap(({ item }) => checkTurns(items, item)),
    ...recountFeedback(items),
  ];
}

type Found = { item: StoredItem; parts: string[] }[];

function recountNumbers(items: StoredItems, chats: Found): string[] {
  const problems: string[] = [];
  for (const { item, parts } of chats) {
    const last = items.at(keys.lastNumber(parts[0] ?? '', 'CHATS'))?.last_id as number | undefined;
    if (Number(parts[1]) > (last ?? 0)) problems.push(`${item.pk} is above the last number, ${last}`);
  }
  return problems;
}

/** Also checks that the chats of each list are in the order of their entries. */
export function recountListsOfChats(items: StoredItems): string[] {
  const listed = items
    .like(/^W#([^#]+)#C#(\d+)$/, /^CHAT$/)
    .flatMap(({ item, parts: [workspaceId = '', id] }): ListedItem[] => {
      const agentId = item.agent_id as string;
      const externalUserId = item.external_user_id as string | undefined;
      const one = { id: Number(id), first: item.entry as number };
      return [
        { ...one, list: keys.chatList(workspaceId, {}) },
        { ...one, list: keys.chatList(workspaceId, { agentId }) },
        ...(externalUserId === undefined
          ? []
          : [{ ...one, list: keys.chatList(workspaceId, { externalUserId }), part: agentId }]),
      ];
    });
  const entries = [
    ...items.like(/^W#[^#]+#CHATS(?:#.*)?$/, /./),
    ...items.like(/^W#[^#]+#USER#/s, /^CHAT#/),
  ].map(({ item }) => item);
  const counts = items.like(/^W#[^#]+#(?:CHATS-N|USER-N#)/s, /./).map(({ item }) => item);
  return [...recountLists(items, listed, { entries, counts }, content), ...interleavings(entries)];
}

const content = {
  of: ({ sk, ids, by_agent }: StoredItem): unknown => by_agent ?? ids ?? [Number(sk)],
  with(listed: readonly ListedItem[]): unknown {
    if (listed[0]?.part === undefined) return listed.map(({ id }) => id);
    const byAgent = Map.groupBy(listed, ({ part }) => part);
    return Object.fromEntries([...byAgent].map(([part, own]) => [part, own.map(({ id }) => id)]));
  },
};

function interleavings(entries: readonly StoredItem[]): string[] {
  const problems: string[] = [];
  for (const [pk, own] of Map.groupBy(entries, (entry) => entry.pk)) {
    let last = 0;
    for (const entry of own.toSorted((one, other) => one.sk.localeCompare(other.sk)))
      for (const id of [content.of(entry)]
        .flatMap((ids) => Object.values(ids as number[]))
        .flat()
        .sort(ascending)) {
        if (id <= last) problems.push(`The entries of ${pk} interleave: ${id} comes after ${last}`);
        last = id;
      }
  }
  return problems;
}

function checkTurns(items: StoredItems, chat: StoredItem): string[] {
  const positions = items
    .in(chat.pk)
    .filter(({ sk }) => /^M#\d+$/.test(sk))
    .map(({ position }) => position as number)
    .sort(ascending);
  const problems: string[] = [];
  if (chat.lease_id !== undefined) problems.push(`${chat.pk} is still under the lease ${chat.lease_id}`);
  if (positions.length % 2 === 1) problems.push(`${chat.pk} has a message without a reply`);
  if (chat.message_count !== positions.length || positions.some((position, index) => position !== index + 1))
    problems.push(
      `${chat.pk} counts ${chat.message_count} messages; there are ${positions.length}, up to ${positions.at(-1)}`,
    );
  return problems;
}

function recountFeedback(items: StoredItems): string[] {
  const recorded = Map.groupBy(
    items.like(/^(W#[^#]+#C#\d+)#F#(\d+)$/, /./),
    ({ parts: [chat = '', position] }) => `${chat} M#${String(position).padStart(7, '0')}#FEEDBACK`,
  );
  const problems: string[] = [];
  for (const { item } of items.like(/^W#[^#]+#C#\d+$/, /#FEEDBACK$/)) {
    const { pk, sk, ...counts } = item;
    const name = `${pk} ${sk}`;
    const recount: Record<string, number> = {};
    for (const feedback of recorded.get(name) ?? []) {
      const type = String(feedback.item.type);
      recount[type] = (recount[type] ?? 0) + 1;
    }
    const positive = Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0));
    if (!isDeepStrictEqual(positive, recount))
      problems.push(`${name} counts ${JSON.stringify(positive)}; there are ${JSON.stringify(recount)}`);
    recorded.delete(name);
  }
  return [...problems, ...[...recorded.keys()].map((name) => `${name} is missing, though there is feedback`)];
}

const ascending = (one: number, other: number): number => one - other;
