import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { lockFile } from './lock-file.ts';

/** The files of a data folder's lock. */
export const lockFiles: readonly string[] = ['lock', 'lock.sqlite', 'lock.sqlite-journal'];

/**
 * Locks the folder for this process. The returned function releases the lock.
 * @throws Error if another process uses the folder
 */
export async function lockDataFolder(folder: string): Promise<() => Promise<void>> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return lockFile(
    path.join(folder, 'lock'),
    (pid) => `The data folder ${folder} is in use by process ${pid}`,
  );
}
