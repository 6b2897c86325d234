import { readdir, readFile } from 'node:fs/promises';
import { setInterval as every } from 'node:timers/promises';

/** Resident memory of a process and all that it has started, in bytes. */
export async function residentBytes(pid: number): Promise<number> {
  const parents = new Map<number, number>();
  for (const name of await readdir('/proc'))
    if (/^\d+$/.test(name)) {
      const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => undefined);
      // The command's name, in brackets, may hold anything.
      if (stat !== undefined)
        parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
    }
  const isOf = (process: number | undefined): boolean =>
    process !== undefined && process > 1 && (process === pid || isOf(parents.get(process)));
  const sizes = await Promise.all(
    [...parents.keys()].filter(isOf).map(async (process) => {
      const status = await readFile(`/proc/${process}/status`, 'utf8').catch(() => '');
      return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
    }),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** The most memory that a process tree has while something happens, looked at every 50 ms. */
export async function peakWhile(pid: number, work: () => Promise<unknown>): Promise<number> {
  const stop = new AbortController();
  let peak = 0;
  const watching = (async () => {
    for await (const _tick of every(50, undefined, { signal: stop.signal }))
      peak = Math.max(peak, await residentBytes(pid));
  })().catch((error: Error) => {
    if (error.name !== 'AbortError') throw error;
  });
  await work();
  stop.abort();
  await watching;
  return peak;
}
