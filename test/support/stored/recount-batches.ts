import { isDeepStrictEqual } from 'node:util';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { StoredRow } from './snapshot.ts';
import type { StoredRows } from './stored-rows.ts';

/** Batches against their requests, those against their chats, and all against their lists: every one has ended. */
export function recountBatches(rows: StoredRows): string[] {
  const batches = rows.like(/^W#([^#]+)#B#([^#]+)$/, /^BATCH$/);
  const open = [
    ...rows.like(/^W#[^#]+#BATCHES#open$/, /./),
    ...rows.like(/^OPERATOR#OPEN-BATCHES$/, /./),
  ].map(({ row }) => `${row.pk} ${row.sk} is still open`);
  return [
    ...open,
    ...batches.flatMap(({ row, parts: [workspace = '', batch = ''] }) => [
      ...checkEnd(rows, row, workspace, batch),
      ...checkItems(rows, row, workspace, batch),
      ...checkDelivery(rows, row, workspace, batch),
    ]),
    ...recountLists(rows, batches),
  ];
}

const finals = ['completed', 'failed', 'cancelled'];

function itemsOf(rows: StoredRows, pk: string): StoredRow[] {
  return Array.from({ length: 10 }, (_, index) => rows.in(`${pk}#I#${index}`)).flat();
}

function checkEnd(rows: StoredRows, batch: StoredRow, workspace: string, id: string): string[] {
  const problems: string[] = [];
  const say = (text: string) => problems.push(`${batch.pk} ${text}`);
  const total = batch.total as number;
  if (!finals.includes(batch.status as string)) say(`is ${batch.status}`);
  if (batch.task_token !== undefined) say('has a task token');
  const succeeded = itemsOf(rows, batch.pk).filter(({ status }) => status === 'success').length;
  if (batch.completed !== succeeded || batch.failed !== total - succeeded)
    say(`counts ${batch.completed} + ${batch.failed} requests; ${succeeded} of ${total} have succeeded`);
  const outline = rows.in(batch.pk).filter(({ sk }) => sk.startsWith('OUTLINE#'));
  const entries = outline.flatMap((part) => part.entries as unknown[]).length;
  if (entries !== total) say(`has an outline of ${entries} requests, not of ${total}`);
  const groups = Array.from({ length: Math.ceil(total / 10) }, (_, group) => group);
  const missing = groups.filter((group) => !rows.has(keys.batchRequests(workspace, id, group)));
  if (missing.length > 0) say(`has lost the groups ${missing.join(', ')}`);
  return problems;
}

function checkItems(rows: StoredRows, batch: StoredRow, workspace: string, id: string): string[] {
  const problems: string[] = [];
  for (const item of itemsOf(rows, batch.pk)) {
    const name = `${item.pk} ${item.sk}`;
    const { status, chat, message } = item;
    if (
      status === 'processing' ||
      (status === 'waiting' && batch.status === 'completed' && !batch.stop_reason)
    )
      problems.push(`${name} is ${status}, though its batch is ${batch.status}`);
    if (item.pk !== keys.batchItem(workspace, id, Number(item.sk)).pk)
      problems.push(`${name} is in another's partition`);
    if (status !== 'success') continue;
    const places = [message as number, (message as number) + 1];
    for (const place of places)
      if (!rows.has(keys.message(workspace, chat as number, place)))
        problems.push(`${name} has no message ${place} in its chat ${chat}`);
  }
  return problems;
}

function checkDelivery(rows: StoredRows, batch: StoredRow, workspace: string, id: string): string[] {
  const delivery = rows.at(keys.webhookDelivery(workspace, id));
  const events = ((batch.webhook as { events?: string[] } | undefined)?.events ?? []) as string[];
  const isWanted = events.includes(batch.status as string);
  if (delivery === undefined) return isWanted ? [`${batch.pk} has told no webhook of its end`] : [];
  const attempts = rows.in(batch.pk).filter(({ sk }) => sk.startsWith('WEBHOOK-ATTEMPT#')).length;
  return [
    ...(isWanted ? [] : [`${batch.pk} tells a webhook what it does not want to know`]),
    ...(delivery.state === 'pending' ? [`${batch.pk} still waits to tell its webhook`] : []),
    ...(delivery.all_attempts === attempts
      ? []
      : [`${batch.pk} counts ${delivery.all_attempts} attempts; there are ${attempts}`]),
  ];
}

function recountLists(rows: StoredRows, batches: { row: StoredRow; parts: string[] }[]): string[] {
  const wanted = new Map<string, string[]>();
  for (const { row, parts } of batches)
    for (const list of ['all', row.status as 'completed'] as const) {
      const { pk } = keys.batchList(parts[0] ?? '', list).head;
      wanted.set(pk, [...(wanted.get(pk) ?? []), parts[1] ?? '']);
    }
  const stored = rows
    .like(/^W#[^#]+#BATCHES#(?:all|completed|failed|cancelled)$/, /./)
    .map(({ row }) => row.pk);
  return [...new Set([...wanted.keys(), ...stored])].flatMap((pk) => {
    const ids = (wanted.get(pk) ?? []).toSorted();
    const list = rows.list(pk);
    return list.count === ids.length && isDeepStrictEqual((list.ids as string[]).toSorted(), ids)
      ? []
      : [`${pk} counts ${list.count} batches and names ${list.ids.length}; there are ${ids.length}`];
  });
}
