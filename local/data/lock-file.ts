import { existsSync, rmSync, statSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as after } from 'node:timers/promises';
import { UnreadableState } from './state-file.ts';

/**
 * A killed process owns its locks until the kernel has taken its memory back: 0.1 s for the 300 MB of a run on an idle
 * machine. This is 20 times as long, for a busy one.
 */
const patienceMilliseconds = 2000;

const pollMilliseconds = 20;

/** SQLite's code for a lock that another connection owns, in this process or in another one. */
const busy = 5;

/**
 * Makes a lock file this process's own until the returned function is called. The kernel releases the lock when the
 * process ends, however it ends: it is a lock of SQLite, on an empty database beside the file. The file itself names the
 * process.
 * @param inUse what to say when another process has it
 */
export async function lockFile(file: string, inUse: (pid: string) => string): Promise<() => Promise<void>> {
  const stopAt = Date.now() + patienceMilliseconds;
  let release = lock(`${file}.sqlite`);
  while (release === undefined && Date.now() < stopAt) {
    await after(pollMilliseconds);
    release = lock(`${file}.sqlite`);
  }
  if (release === undefined) throw new Error(inUse(await ownerOf(file)));
  await writeFile(file, `${process.pid}\n${await startOf(process.pid)}\n`, { mode: 0o600 });
  return async () => {
    await rm(file, { force: true });
    release();
  };
}

function lock(database: string): (() => void) | undefined {
  if (!existsSync(database)) new DatabaseSync(database).close();
  const found = inodeOf(database);
  const release = openExclusively(database);
  // The owner before may have removed the file after it was opened here: a lock on that one keeps nobody out.
  if (release !== undefined && inodeOf(database) === found)
    return () => {
      rmSync(database);
      release();
    };
  release?.();
  return undefined;
}

/**
 * Has a database to itself until the returned function is called; undefined while somebody else has it open, if only to
 * read it.
 */
export function openExclusively(file: string): (() => void) | undefined {
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    return () => database.close();
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode === busy) return undefined;
    throw new UnreadableState(file, (error as Error).message);
  }
}

const inodeOf = (file: string): bigint | undefined =>
  statSync(file, { bigint: true, throwIfNoEntry: false })?.ino;

const ownerOf = async (file: string): Promise<string> =>
  (await readFile(file, 'utf8').catch(() => '')).split('\n')[0] || 'unknown';

/** When the process began, in ticks: by it the version before tells a process from a later one of the same number. */
async function startOf(pid: number): Promise<string> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The 22nd field; the second may hold spaces, so count from behind its closing bracket.
  return status.slice(status.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}
