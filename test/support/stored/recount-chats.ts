import { isDeepStrictEqual } from 'node:util';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { StoredRow } from './snapshot.ts';
import type { StoredRows } from './stored-rows.ts';

/** Chats against their numbers, their lists and their messages; feedback against its counts. */
export function recountChats(rows: StoredRows): string[] {
  const chats = rows.like(/^W#([^#]+)#C#(\d+)$/, /^CHAT$/);
  return [
    ...recountNumbers(rows, chats),
    ...recountLists(rows, chats),
    ...chats.flatMap(({ row }) => checkTurns(rows, row)),
    ...recountFeedback(rows),
  ];
}

type Found = { row: StoredRow; parts: string[] }[];

function recountNumbers(rows: StoredRows, chats: Found): string[] {
  const problems: string[] = [];
  const byWorkspace = Map.groupBy(chats, ({ parts: [workspace = ''] }) => workspace);
  for (const { row, parts } of rows.like(/^W#([^#]+)$/, /^CHATS$/)) {
    const ids = (byWorkspace.get(parts[0] ?? '') ?? []).map((chat) => Number(chat.parts[1])).sort(ascending);
    if (row.count !== ids.length || ids.some((id, index) => id !== index + 1))
      problems.push(`${row.pk} counts ${row.count} chats; there are ${ids.length}, up to ${ids.at(-1)}`);
  }
  return problems;
}

function recountLists(rows: StoredRows, chats: Found): string[] {
  const wanted = new Map<string, number[]>();
  for (const { row, parts } of chats) {
    const agentId = row.agent_id as string;
    const externalUserId = row.external_user_id as string | undefined;
    const lists =
      externalUserId === undefined
        ? [{ agentId }]
        : [{ agentId }, { externalUserId }, { agentId, externalUserId }];
    for (const list of lists) {
      const { pk } = keys.chatList(parts[0] ?? '', list).head;
      wanted.set(pk, [...(wanted.get(pk) ?? []), Number(parts[1])]);
    }
  }
  const stored = new Set(rows.like(/^W#[^#]+#LIST#/, /./).map(({ row }) => row.pk));
  return [...new Set([...wanted.keys(), ...stored])].flatMap((pk) => {
    const ids = (wanted.get(pk) ?? []).sort(ascending);
    const list = rows.list(pk);
    return list.count === ids.length && isDeepStrictEqual(list.ids, ids)
      ? []
      : [`${pk} counts ${list.count} chats and names ${list.ids.length}; there are ${ids.length}`];
  });
}

function checkTurns(rows: StoredRows, chat: StoredRow): string[] {
  const positions = rows
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

function recountFeedback(rows: StoredRows): string[] {
  const given = Map.groupBy(
    rows.like(/^(W#[^#]+#C#\d+)#F#(\d+)$/, /./),
    ({ parts: [chat = '', position] }) => `${chat} M#${String(position).padStart(7, '0')}#FEEDBACK`,
  );
  const problems: string[] = [];
  for (const { row } of rows.like(/^W#[^#]+#C#\d+$/, /#FEEDBACK$/)) {
    const { pk, sk, ...counts } = row;
    const name = `${pk} ${sk}`;
    const recount: Record<string, number> = {};
    for (const feedback of given.get(name) ?? []) {
      const type = String(feedback.row.type);
      recount[type] = (recount[type] ?? 0) + 1;
    }
    const positive = Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0));
    if (!isDeepStrictEqual(positive, recount))
      problems.push(`${name} counts ${JSON.stringify(positive)}; there are ${JSON.stringify(recount)}`);
    given.delete(name);
  }
  return [...problems, ...[...given.keys()].map((name) => `${name} is missing, though there is feedback`)];
}

const ascending = (one: number, other: number): number => one - other;
