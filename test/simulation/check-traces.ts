import { keys } from '#adapters/dynamo/table/keys.ts';
import type { MemoryTable } from '#support/memory-table/memory-table.ts';
import type { StoredItem } from '#support/stored/snapshot.ts';
import type { StoredItems } from '#support/stored/stored-items.ts';
import { readItems } from './items.ts';
import { clockDifference } from './timeline.ts';
import type { World } from './world.ts';

/** Remembers the files of all messages that were ever stored. */
export function watchFiles(table: MemoryTable): ReadonlySet<string> {
  const used = new Set<string>();
  const { onWrite } = table;
  table.onWrite = (before, after) => {
    onWrite?.(before, after);
    for (const file of after?.sk?.S?.startsWith('M#') ? (after.files?.L ?? []) : [])
      used.add(file.M?.uuid?.S ?? '');
  };
  return used;
}

/** Checks what is left of files, ratings and persons, once all purges have ended. */
export function checkTraces(world: World): void {
  const items = readItems(world.table);
  checkSuccesses(world, items);
  checkFailures(world, items);
  checkFiles(world, items);
  checkRatings(world, items);
  checkPersons(world, items);
}

/** What a client gets as a success is in the chat of the request, as its own turn. */
function checkSuccesses({ checks }: World, items: StoredItems): void {
  const ended = items
    .like(/^W#([^#]+)#B#([^#]+)#I#\d$/, /^\d+$/)
    .filter(({ item }) => item.status === 'success');
  for (const { item, parts } of ended) {
    const [workspaceId = '', batchId = ''] = parts;
    const [chatId, position] = [item.chat as number, item.message as number];
    const chat = items.at(keys.chat(workspaceId, chatId));
    if (chat === undefined || chat.deleted_at !== undefined) continue;
    const user = items.at(keys.message(workspaceId, chatId, position));
    const reply = items.at(keys.message(workspaceId, chatId, position + 1));
    checks.that(
      'a success is a turn of its request',
      user?.turn === `batch:${batchId}:${Number(item.sk)}` &&
        reply !== undefined &&
        reply.error === undefined,
      () => `${item.pk} ${item.sk}: ${position} of chat ${chatId}`,
    );
  }
}

/** A request that is lost or busy is tried again: it fails by its third broken reply, or because its batch has ended. */
function checkFailures({ checks }: World, items: StoredItems): void {
  const failed = items
    .like(/^W#[^#]+#B#[^#]+#I#\d$/, /^\d+$/)
    .filter(({ item }) => item.status === 'failed' && (item.error as { code: number }).code === 500);
  for (const { item } of failed) {
    const { message } = item.error as { message: string };
    const { attempt, broken = 0, lost = 0 } = item as unknown as Record<string, number>;
    const isBroken = broken >= 2 || lost > 0;
    const isLast = message !== 'The request could not be processed' || (attempt ?? 0) >= 10;
    checks.that(
      'a request fails for a reason',
      message === 'The batch could not be carried through' || (isBroken && isLast),
      () => `${item.pk} ${item.sk}: ${message} at attempt ${attempt}, ${broken} broken, ${lost} lost`,
    );
  }
}

function checkFiles({ checks, outside: { objects }, usedFiles }: World, items: StoredItems): void {
  const has = (workspaceId: string, uuid: string) =>
    items.has(keys.file(workspaceId, uuid)) && objects.has(uuid);
  const messages = items.like(/^W#([^#]+)#C#\d+$/, /^M#\d+$/);
  for (const { item, parts } of messages)
    for (const { uuid } of (item.files ?? []) as { uuid: string }[])
      checks.that(
        'a stored message has its files',
        has(parts[0] ?? '', uuid),
        () => `${item.pk} ${item.sk}: ${uuid}`,
      );
  for (const { item, parts } of items.like(/^W#([^#]+)#FILE#(.+)$/, /^FILE$/)) {
    const [workspaceId = '', uuid = ''] = parts;
    if (!usedFiles.has(uuid)) continue;
    const isAttached = items.in(item.pk).some(({ sk }) => sk.startsWith('CHAT#'));
    checks.that('a file is gone with its last chat', isAttached, () => `${uuid} of ${workspaceId}`);
  }
}

function checkRatings({ checks }: World, items: StoredItems): void {
  const checkChat = ({ pk, sk }: StoredItem, workspaceId = '', chatId = ''): void => {
    const chat = items.at(keys.chat(workspaceId, Number(chatId)));
    const isThere = chat !== undefined && chat.deleted_at === undefined;
    checks.that('a purged chat leaves nothing', isThere, () => `${pk} ${sk}`);
  };
  for (const { item, parts } of items.like(/^W#([^#]+)#C#(\d+)#F#\d+$/, /./))
    checkChat(item, parts[0], parts[1]);
  for (const { item, parts } of items.like(/^W#([^#]+)#USER#.+$/, /^RATING#/))
    checkChat(item, parts[0], item.sk.split('#')[1]);
}

function checkPersons({ checks, ledger }: World, items: StoredItems): void {
  for (const { workspaceId, externalUserId, start, end } of ledger.erasures) {
    if (end === Number.POSITIVE_INFINITY) continue;
    const isOlder = (time: unknown): boolean => Date.parse(String(time)) < start - clockDifference;
    const entries = items.in(keys.userRating(workspaceId, externalUserId, 0, 0).pk);
    const left = entries.filter(({ sk, created_at: at }) =>
      isOlder(sk.startsWith('BATCH#') ? sk.split('#')[1] : at),
    );
    const requests = items.like(/^W#([^#]+)#B#([^#]+)#REQUESTS#\d$/, /^GROUP#/).filter(({ item, parts }) => {
      const [workspace = '', batchId = ''] = parts;
      const names = (item.requests as { external_user_id?: string }[]).map(
        (request) => request.external_user_id,
      );
      const batch = items.at(keys.batch(workspace, batchId));
      return workspace === workspaceId && names.includes(externalUserId) && isOlder(batch?.created_at);
    });
    checks.that(
      'an erased person has no entries',
      left.length === 0 && requests.length === 0,
      () =>
        `${externalUserId}: ${[...left, ...requests.map(({ item }) => item)].map(({ pk, sk }) => `${pk} ${sk}`).join(', ')}`,
    );
  }
}
