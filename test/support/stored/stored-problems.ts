import { keys } from '#adapters/dynamo/table/keys.ts';
import { parentsOf } from './item-kinds.ts';
import { recountBatches } from './recount-batches.ts';
import { recountChats } from './recount-chats.ts';
import { type Snapshot, type StoresOfRun, takeSnapshot } from './snapshot.ts';
import { nameOf, StoredItems } from './stored-items.ts';

/**
 * Problems in everything that an idle service stores, one line each: orphaned items and objects, counters that a
 * recount contradicts, and work that has not ended.
 */
export async function storedProblems(run: StoresOfRun): Promise<string[]> {
  return problemsOf(await takeSnapshot(run));
}

export function problemsOf(snapshot: Snapshot): string[] {
  const items = new StoredItems(snapshot);
  return [
    ...checkParents(items),
    ...recountChats(items),
    ...recountBatches(items),
    ...checkObjects(snapshot, items),
    ...Object.entries(snapshot.messages).flatMap(([queue, count]) =>
      count === 0 ? [] : [`The queue ${queue} still holds ${count} messages`],
    ),
    ...snapshot.executions.map((name) => `The execution ${name} still runs`),
  ];
}

function checkParents(items: StoredItems): string[] {
  return items.all.flatMap((item) => {
    // The reconciler's index and the list of open batches: `recountBatches` reports their items as open.
    if (/^OPERATOR#OPEN-BATCHES$|^W#[^#]+#BATCHES#open$/.test(item.pk)) return [];
    const parents = parentsOf(item);
    if (parents === undefined)
      return [`${nameOf(item)} is of an unknown kind (test/support/stored/item-kinds.ts)`];
    return parents
      .filter((parent) => !items.has(parent))
      .map((parent) => `${nameOf(item)} is an orphan: there is no ${nameOf(parent)}`);
  });
}

function checkObjects({ files, uploads, contents }: Snapshot, items: StoredItems): string[] {
  const stored = new Set([...files.map(({ key }) => key), ...contents]);
  const hasFileItem = (workspace = '', uuid = ''): boolean => items.has(keys.file(workspace, uuid));
  const named = new Set(
    items.all.flatMap(({ content_name, steps_name, object_name }) =>
      [content_name, steps_name, object_name].filter((name) => typeof name === 'string'),
    ),
  );
  const uploaded = files.flatMap(({ key, isPersistent }) => {
    const [, workspace, uuid] = key.split('/');
    // The bucket's lifecycle rule removes other objects after a day, so they need no item.
    return !isPersistent || hasFileItem(workspace, uuid) ? [] : [`The object ${key} is an orphan`];
  });
  const others = contents.flatMap((key) => {
    const [prefix, , workspace, uuid] = key.split('/');
    const isKnown = prefix === 'attachments' ? hasFileItem(workspace, uuid) : named.has(key);
    return isKnown ? [] : [`The object ${key} is an orphan`];
  });
  const lost = [...named].filter((name) => !stored.has(name)).map((name) => `The object ${name} is missing`);
  const lostFiles = items
    .like(/^W#([^#]+)#FILE#([^#]+)$/, /^FILE$/)
    .flatMap(({ parts: [workspace, uuid] }) => {
      const key = `files/${workspace}/${uuid}`;
      return stored.has(key) ? [] : [`The object ${key} is missing`];
    });
  return [
    ...uploaded,
    ...others,
    ...lost,
    ...lostFiles,
    ...uploads.map((key) => `A multipart upload of ${key} is unfinished`),
  ];
}
