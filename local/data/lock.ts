import { closeSync, openSync, rmSync, statSync } from 'node:fs';
import { access, constants, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { reasonOf, UnreadableState } from './state-file.ts';

/**
 * A killed process owns its locks until the kernel has freed its memory. That took 0.1 s for the 300 MB of a run on an
 * idle machine.
 */
const lockTimeoutMilliseconds = 2000;

const pollMilliseconds = 20;

const sqliteBusy = 5;

/**
 * The lock is SQLite's, so the kernel releases it even if the process is killed.
 * @param inUse makes the error from the owner's process id, or from `unknown`
 * @throws the error of `inUse` if the lock still has another owner after 2 s; the errors of `openExclusively`; Error if
 * a file cannot be written
 */
export async function lockFile(file: string, inUse: (pid: string) => Error): Promise<() => Promise<void>> {
  const stopAt = Date.now() + lockTimeoutMilliseconds;
  let release = lock(`${file}.sqlite`);
  while (release === undefined && Date.now() < stopAt) {
    await sleep(pollMilliseconds);
    release = lock(`${file}.sqlite`);
  }
  if (release === undefined) throw inUse(await ownerOf(file));
  await writeFile(file, `${process.pid}\n`, { mode: 0o600 });
  return async () => {
    await rm(file, { force: true });
    release();
  };
}

function lock(database: string): (() => void) | undefined {
  createEmpty(database);
  const inode = inodeOf(database);
  const release = openExclusively(database);
  // The previous owner may have deleted the file meanwhile. A lock on a deleted file does not exclude later processes.
  if (release !== undefined && inodeOf(database) === inode)
    return () => {
      rmSync(database);
      release();
    };
  release?.();
  return undefined;
}

function createEmpty(database: string): void {
  try {
    closeSync(openSync(database, 'a'));
  } catch (error) {
    throw new Error(`${database} cannot be written: ${reasonOf(error)}`);
  }
}

/**
 * Locks the database until the returned function closes it. Undefined if another connection's lock prevents that.
 * @throws UnreadableState if it is no database, or cannot be locked for another reason; Error if it cannot be opened
 */
export function openExclusively(file: string): (() => void) | undefined {
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    return () => database.close();
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode === sqliteBusy) return undefined;
    throw new UnreadableState(file, (error as Error).message);
  }
}

const inodeOf = (file: string): bigint | undefined =>
  statSync(file, { bigint: true, throwIfNoEntry: false })?.ino;

const ownerOf = async (file: string): Promise<string> =>
  (await readFile(file, 'utf8').catch(() => '')).split('\n')[0] || 'unknown';

export const lockFiles: readonly string[] = ['lock', 'lock.sqlite', 'lock.sqlite-journal'];

/**
 * Creates the folder if it is missing. The returned function releases the lock.
 * @throws UnusableFolder if the folder cannot be used or is locked; the other errors of `lockFile`
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

export class UnusableFolder extends Error {
  constructor(folder: string, problem: string) {
    super(`The data folder ${folder} ${problem}`);
    this.name = 'UnusableFolder';
  }
}
