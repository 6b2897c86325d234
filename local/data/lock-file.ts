import { readFile, rm, writeFile } from 'node:fs/promises';

/**
 * Makes a lock file this process's own until the returned function is called; the lock of a process that is gone counts
 * for nothing.
 * @param inUse what to say when another process has it
 */
export async function lockFile(lock: string, inUse: (pid: string) => string): Promise<() => Promise<void>> {
  const mine = `${process.pid}\n${await startOf(process.pid)}\n`;
  for (;;) {
    try {
      await writeFile(lock, mine, { flag: 'wx' });
      return () => rm(lock, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const [pid = '', start = ''] = (await readFile(lock, 'utf8').catch(() => '')).split('\n');
    if (isAlive(Number(pid)) && (await startOf(Number(pid))) === start) throw new Error(inUse(pid));
    await rm(lock, { force: true });
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** When the process began, in ticks: a number that comes again, as in a container, is then no false alarm. */
async function startOf(pid: number): Promise<string> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The 22nd field; the second may hold spaces, so count from behind its closing bracket.
  return status.slice(status.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}
