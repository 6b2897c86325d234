import { keys } from '#adapters/dynamo/table/keys.ts';
import { parentsOf } from './item-kinds.ts';
import { recountBatches } from './recount-batches.ts';
import { recountChats } from './recount-chats.ts';
import { type Snapshot, type StoresOfRun, takeSnapshot } from './snapshot.ts';
import { nameOf, StoredItems } from './stored-items.ts';

/**
 * What is wrong with all that a service keeps while nothing goes on in it, one line each: rows and objects that belong to
 * nothing, counters that a recount contradicts, and whatever has not come to its end.
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
    // The reconciler's index and the open batches: what is in them is told as open.
    if (/^OPERATOR#OPEN-BATCHES$|^W#[^#]+#BATCHES#open$/.test(item.pk)) return [];
    const parents = parentsOf(item);
    if (parents === undefined)
      return [`${nameOf(item)} is of no known kind (test/support/stored/item-kinds.ts)`];
    return parents
      .filter((parent) => !items.has(parent))
      .map((parent) => `${nameOf(item)} is an orphan: there is no ${nameOf(parent)}`);
  });
}

function checkObjects({ files, uploads, contents }: Snapshot, items: StoredItems): string[] {
  const stored = new Set([...files.map(({ key }) => key), ...contents]);
  const fileItem = (workspace = '', uuid = ''): boolean => items.has(keys.file(workspace, uuid));
  const named = new Set(
    items.all.flatMap(({ content_name, steps_name, object_name }) =>
      [content_name, steps_name, object_name].filter((name) => typeof name === 'string'),
    ),
  );
  const uploaded = files.flatMap(({ key, stored }) => {
    const [, workspace, uuid] = key.split('/');
    // The bucket's rule takes what is not kept after a day, whatever becomes of its row.
    return !stored || fileItem(workspace, uuid) ? [] : [`The object ${key} is an orphan`];
  });
  const others = contents.flatMap((key) => {
    const [prefix, , workspace, uuid] = key.split('/');
    const isKnown = prefix === 'attachments' ? fileItem(workspace, uuid) : named.has(key);
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
    ...uploads.map((key) => `An upload of ${key} was left`),
  ];
}
