import { access, constants, mkdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { lockFile } from './lock-file.ts';
import { reasonOf } from './reason-of.ts';
import { UnusableFolder } from './unusable-folder.ts';

/** The files of a data folder's lock. */
export const lockFiles: readonly string[] = ['lock', 'lock.sqlite', 'lock.sqlite-journal'];

/**
 * Locks the folder for this process. The returned function releases the lock.
 * @throws UnusableFolder if it is not a folder that this process can write, or if another process uses it
 */
export async function lockDataFolder(folder: string): Promise<() => Promise<void>> {
  await createFolder(folder);
  return lockFile(
    path.join(folder, 'lock'),
    (pid) => new UnusableFolder(folder, `is in use by process ${pid}`),
  );
}

async function createFolder(folder: string): Promise<void> {
  try {
    if ((await stat(folder).catch(() => undefined))?.isFile()) throw new UnusableFolder(folder, 'is a file');
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw error instanceof UnusableFolder
      ? error
      : new UnusableFolder(folder, `cannot be written: ${reasonOf(error)}`);
  }
}
