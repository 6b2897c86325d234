import { existsSync } from 'node:fs';
import { chmod, lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { lockFiles } from '#local/data/lock.ts';

/** Files and folders that a run writes to its data folder. People may store other files there. */
const runFiles =
  /^(assembly|assembly\.draft-\w+|compile-cache|s3|lock(\.sqlite(-journal)?)?|dynamodb\.sqlite(-\w+)?|executions\.jsonl(\.new)?|(checked-definitions|connection|keys|memory|parameters|secrets)\.json(\.\w+)?)$/;

/** The permission bits of group and others. */
const groupAndOthers = 0o077;

/**
 * Empties a data folder, but leaves the lock of the run. Other folders stay unchanged, because a mistyped path must not
 * delete other files.
 * @throws Error if the folder has content and is not a data folder
 */
export async function emptyDataFolder(folder: string): Promise<void> {
  const names = await contentOf(folder);
  if (names.length > 0 && !isDataFolder(folder, names))
    throw new Error(`${folder} is not a data folder of this service, so nothing was deleted`);
  await Promise.all(names.map((name) => rm(join(folder, name), { recursive: true })));
}

/**
 * Removes the permissions of group and others from the data folder and from the files of runs: earlier versions let
 * everyone read them. If the folder has content and is not a data folder, its own mode does not change.
 */
export async function makePrivate(folder: string): Promise<void> {
  // closeTree changes the mode of a folder after its content. So the content of a private folder is not checked again.
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

/**
 * Removes the permissions of group and others from a file, or from a folder and everything in it, except symbolic
 * links.
 */
export async function closeTree(path: string): Promise<void> {
  const stats = await lstat(path);
  if (stats.isSymbolicLink()) return;
  if (stats.isDirectory()) for (const name of await readdir(path)) await closeTree(join(path, name));
  if ((stats.mode & groupAndOthers) !== 0) await chmod(path, stats.mode & 0o700);
}
