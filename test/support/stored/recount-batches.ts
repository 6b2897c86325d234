import { keys } from '#adapters/dynamo/table/keys.ts';
import { recountLists } from './recount-lists.ts';
import type { StoredItem } from './snapshot.ts';
import type { StoredItems } from './stored-items.ts';

/**
 * Checks batches against their items, items against their chats, and lists against batches. Every batch must have
 * ended.
 */
export function recountBatches(items: StoredItems): string[] {
  const batches = items.like(/^W#([^#]+)#B#([^#]+)$/, /^BATCH$/);
  const open = [
    ...items.like(/^W#[^#]+#BATCHES#open$/, /./),
    ...items.like(/^OPERATOR#OPEN-BATCHES$/, /./),
    ...items.like(/^W#[^#]+#BATCHES-N#open$/, /./).filter(({ item }) => item.n !== 0),
  ].map(({ item }) => `${item.pk} ${item.sk} is still open`);
  return [
    ...open,
    ...batches.flatMap(({ item, parts: [workspace = '', batch = ''] }) => [
      ...checkEnd(items, item, workspace, batch),
      ...checkItems(items, item, workspace, batch),
      ...checkDelivery(items, item, workspace, batch),
    ]),
    ...recountListsOfBatches(items),
  ];
}

const finals = ['completed', 'failed', 'cancelled'];

function itemsOf(items: StoredItems, pk: string): StoredItem[] {
  return Array.from({ length: 10 }, (_, index) => items.in(`${pk}#I#${index}`)).flat();
}

function checkEnd(items: StoredItems, batch: StoredItem, workspace: string, id: string): string[] {
  const problems: string[] = [];
  const report = (text: string) => problems.push(`${batch.pk} ${text}`);
  const total = batch.total as number;
  if (!finals.includes(batch.status as string)) report(`is ${batch.status}`);
  if (batch.slots !== undefined) report('has slots');
  const succeeded = itemsOf(items, batch.pk).filter(({ status }) => status === 'success').length;
  if (batch.completed !== succeeded || batch.failed !== total - succeeded)
    report(`counts ${batch.completed} + ${batch.failed} requests; ${succeeded} of ${total} have succeeded`);
  const manifest = items.in(batch.pk).filter(({ sk }) => sk.startsWith('OUTLINE#'));
  const entries = manifest.flatMap((part) => part.entries as unknown[]).length;
  if (entries !== total) report(`has a manifest of ${entries} requests, not of ${total}`);
  const groups = Array.from({ length: Math.ceil(total / 10) }, (_, group) => group);
  const missing = groups.filter((group) => !items.has(keys.batchRequests(workspace, id, group)));
  if (missing.length > 0) report(`has lost the groups ${missing.join(', ')}`);
  return problems;
}

function checkItems(items: StoredItems, batch: StoredItem, workspace: string, id: string): string[] {
  const problems: string[] = [];
  for (const item of itemsOf(items, batch.pk)) {
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
    const positions = [message as number, (message as number) + 1];
    for (const position of positions)
      if (!items.has(keys.message(workspace, chat as number, position)))
        problems.push(`${name} has no message ${position} in its chat ${chat}`);
  }
  return problems;
}

function checkDelivery(items: StoredItems, batch: StoredItem, workspace: string, id: string): string[] {
  const delivery = items.at(keys.webhookDelivery(workspace, id));
  const events = (batch.events ?? []) as string[];
  const isWanted = events.includes(batch.status as string);
  if (delivery === undefined) return isWanted ? [`${batch.pk} has no webhook delivery`] : [];
  const attempts = items.in(batch.pk).filter(({ sk }) => sk.startsWith('WEBHOOK-ATTEMPT#')).length;
  return [
    ...(isWanted ? [] : [`${batch.pk} has a webhook delivery for an event that its webhook did not choose`]),
    ...(delivery.state === 'pending' ? [`${batch.pk} has a webhook delivery that is still pending`] : []),
    ...(delivery.all_attempts === attempts
      ? []
      : [`${batch.pk} counts ${delivery.all_attempts} attempts; there are ${attempts}`]),
  ];
}

/** Of batches that have ended. */
export function recountListsOfBatches(items: StoredItems): string[] {
  const batches = items
    .like(/^W#([^#]+)#B#([^#]+)$/, /^BATCH$/)
    .filter(({ item }) => finals.includes(item.status as string));
  const listed = batches.flatMap(({ item, parts: [workspaceId = '', batchId = ''] }) => {
    const one = { id: item.number as number, first: item.number as number, part: batchId };
    return (['all', item.status as 'completed'] as const).map((of) => ({
      ...one,
      list: keys.batchList(workspaceId, of),
    }));
  });
  const ofStatus = '(?:all|completed|failed|cancelled)$';
  const entries = items.like(new RegExp(`^W#[^#]+#BATCHES#${ofStatus}`), /./).map(({ item }) => item);
  const counts = items.like(new RegExp(`^W#[^#]+#BATCHES-N#${ofStatus}`), /./).map(({ item }) => item);
  return recountLists(
    items,
    listed.map(({ part: _, ...one }) => one),
    { entries, counts },
    {
      of: ({ id }) => id,
      with: ([one]) => listed.find(({ list, id }) => list === one?.list && id === one.id)?.part,
    },
  );
}
