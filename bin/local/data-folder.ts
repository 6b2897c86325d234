import { existsSync } from 'node:fs';
import { chmod, lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { lockFiles } from '#local/data/lock.ts';

/** What a run, also of an earlier version, writes to its data folder. People may store other files there. */
const runFiles =
  /^(assembly|assembly\.draft-\w+|compile-cache|s3|lock(\.sqlite(-journal)?)?|dynamodb\.sqlite(-\w+)?|executions\.jsonl(\.new)?|(checked-definitions|connection|keys|memory|parameters|secrets)\.json(\.\w+)?)$/;

const groupAndOthers = 0o077;

/**
 * Deletes everything but the lock of the run, also files that no run has written.
 * @throws Error if the folder has content and is not a data folder: a mistyped path must not delete other files
 */
export async function emptyDataFolder(folder: string): Promise<void> {
  const names = await contentOf(folder);
  if (names.length > 0 && !isDataFolder(folder, names))
    throw new Error(`${folder} is not a data folder of this service, so nothing was deleted`);
  await Promise.all(names.map((name) => rm(join(folder, name), { recursive: true })));
}

/** Earlier versions let everyone read what a run writes. */
export async function makePrivate(folder: string): Promise<void> {
  // closeTree closes a folder after its content, so a closed folder needs no second check.
  for (const name of await readdir(folder))
    if (runFiles.test(name) && (await isOpen(join(folder, name)))) await closeTree(join(folder, name));
  const names = await contentOf(folder);
  if ((names.length === 0 || isDataFolder(folder, names)) && (await isOpen(folder)))
    await chmod(folder, 0o700);
}

const contentOf = async (folder: string): Promise<string[]> =>
  (await readdir(folder)).filter((name) => !lockFiles.includes(name));

const isDataFolder = (folder: string, names: readonly string[]): boolean =>
  existsSync(join(folder, 'assembly', 'made-from')) ||
  names.some((name) => name === 'dynamodb.sqlite' || name.startsWith('assembly.draft-'));

async function isOpen(path: string): Promise<boolean> {
  const stats = await lstat(path);
  return !stats.isSymbolicLink() && (stats.mode & groupAndOthers) !== 0;
}

/** Removes the permissions of group and others. Symbolic links stay as they are. */
export async function closeTree(path: string): Promise<void> {
  const stats = await lstat(path);
  if (stats.isSymbolicLink()) return;
  if (stats.isDirectory()) for (const name of await readdir(path)) await closeTree(join(path, name));
  if ((stats.mode & groupAndOthers) !== 0) await chmod(path, stats.mode & 0o700);
}
