import { setInterval as every } from 'node:timers/promises';
import { processTree } from './process-tree.ts';

/** Resident memory of a process and its descendants, in bytes. */
export const residentBytes = async (pid: number): Promise<number> =>
  (await processTree(pid)).reduce((sum, { residentBytes: size }) => sum + size, 0);

/** The largest resident memory of a process tree during `work`, in bytes, measured every 50 ms. */
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
