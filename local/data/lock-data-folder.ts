import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { lockFile } from './lock-file.ts';

/** What a data folder holds of its lock. */
export const lockFiles: readonly string[] = ['lock', 'lock.sqlite', 'lock.sqlite-journal'];

/** Makes the folder this process's own until the returned function is called. */
export async function lockDataFolder(folder: string): Promise<() => Promise<void>> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return lockFile(
    path.join(folder, 'lock'),
    (pid) => `The data folder ${folder} is in use by process ${pid}`,
  );
}
