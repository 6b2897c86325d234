import { existsSync } from 'node:fs';
import { chmod, lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { lockFiles } from '#local/data/lock-data-folder.ts';

/** What a run writes to its folder; people keep files of their own beside it. */
const written =
  /^(assembly|assembly\.draft-\w+|compile-cache|s3|lock(\.sqlite(-journal)?)?|dynamodb\.sqlite(-\w+)?|executions\.jsonl(\.new)?|(checked-definitions|connection|keys|memory|parameters|secrets)\.json(\.\w+)?)$/;

/** What nobody but the owner may do: anything. */
const others = 0o077;

/** Removes the folder's content, if it is a data folder: a mistyped path must not cost anything else. */
export async function emptyDataFolder(folder: string): Promise<void> {
  const names = await contentOf(folder);
  if (names.length > 0 && !isDataFolder(folder, names))
    throw new Error(`${folder} is not a data folder of this service: it was left alone`);
  await Promise.all(names.map((name) => rm(join(folder, name), { recursive: true })));
}

/**
 * Leaves the folder, and all that runs have written to it, to their owner: versions before this one let everybody read.
 * A folder that holds other things than a run's keeps its own mode.
 */
export async function makePrivate(folder: string): Promise<void> {
  const ours = (await readdir(folder)).filter((name) => written.test(name)).map((name) => join(folder, name));
  // What stands at the top is mended last, so that it tells whether all of it is.
  for (const path of ours) if (await isOpen(path)) await closeTree(path);
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
  return !stats.isSymbolicLink() && (stats.mode & others) !== 0;
}

/** Leaves a file, or a folder and all that is in it, to the owner. */
export async function closeTree(path: string): Promise<void> {
  const stats = await lstat(path);
  if (stats.isSymbolicLink()) return;
  if (stats.isDirectory()) for (const name of await readdir(path)) await closeTree(join(path, name));
  if ((stats.mode & others) !== 0) await chmod(path, stats.mode & 0o700);
}
