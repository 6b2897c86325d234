import { isDeepStrictEqual } from 'node:util';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { StoredItem } from './snapshot.ts';
import type { StoredItems } from './stored-items.ts';

/** Checks chats against their count, their lists and their messages, and feedback against its counts. */
export function recountChats(items: StoredItems): string[] {
  const chats = items.like(/^W#([^#]+)#C#(\d+)$/, /^CHAT$/);
  return [
    ...recountNumbers(items, chats),
    ...recountLists(items, chats.filter(isLiving)),
    ...chats.filter(isLiving).flatMap(({ item }) => checkTurns(items, item)),
    ...recountFeedback(items),
  ];
}

type Found = { item: StoredItem; parts: string[] }[];

const isLiving = ({ item }: Found[number]): boolean => item.deleted_at === undefined;

function recountNumbers(items: StoredItems, chats: Found): string[] {
  const problems: string[] = [];
  const byWorkspace = Map.groupBy(chats, ({ parts: [workspace = ''] }) => workspace);
  for (const { item, parts } of items.like(/^W#([^#]+)$/, /^CHATS$/)) {
    const ids = (byWorkspace.get(parts[0] ?? '') ?? []).map((chat) => Number(chat.parts[1])).sort(ascending);
    if (item.count !== ids.length || ids.some((id, index) => id !== index + 1))
      problems.push(`${item.pk} counts ${item.count} chats; there are ${ids.length}, up to ${ids.at(-1)}`);
  }
  return problems;
}

function recountLists(items: StoredItems, chats: Found): string[] {
  const wanted = new Map<string, number[]>();
  for (const { item, parts } of chats) {
    const agentId = item.agent_id as string;
    const externalUserId = item.external_user_id as string | undefined;
    const lists =
      externalUserId === undefined
        ? [{ agentId }]
        : [{ agentId }, { externalUserId }, { agentId, externalUserId }];
    for (const list of lists) {
      const { pk } = keys.chatList(parts[0] ?? '', list).head;
      wanted.set(pk, [...(wanted.get(pk) ?? []), Number(parts[1])]);
    }
  }
  const stored = new Set(items.like(/^W#[^#]+#LIST#/, /./).map(({ item }) => item.pk));
  return [...new Set([...wanted.keys(), ...stored])].flatMap((pk) => {
    const ids = (wanted.get(pk) ?? []).sort(ascending);
    const list = items.list(pk);
    const living = list.ids.filter((_, index) => !isMarked(items, pk, index));
    return list.count === list.ids.length && isDeepStrictEqual(living, ids)
      ? []
      : [`${pk} counts ${list.count} chats and names ${living.length}; there are ${ids.length}`];
  });
}

/** Whether a leaf marks the list index as gone. */
function isMarked(items: StoredItems, pk: string, index: number): boolean {
  const leaf = items.at({ pk, sk: `GONE#LEAF#${Math.floor(index / 8000)}` });
  const byte = Buffer.from((leaf?.bits as string | undefined) ?? '', 'base64')[(index % 8000) >> 3] ?? 0;
  return ((byte >> (index & 7)) & 1) === 1;
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
