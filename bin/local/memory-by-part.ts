import { setTimeout as after } from 'node:timers/promises';
import { getHeapStatistics, type HeapInfo } from 'node:v8';
import type { Worker } from 'node:worker_threads';
import { writeState } from '#local/data/state-file.ts';

export interface MemoryPart {
  /** `main thread`, a name of threads, `ending threads`, or `rest of the process`. */
  part: string;
  threads: number;
  /**
   * The memory that V8 reports for the threads. A thread that does not respond counts as 0. For `rest of the process`,
   * the resident set size without the other parts.
   */
  bytes: number;
}

/** For a thread that does not respond, such as one that waits synchronously for a child process. */
const responseTimeoutMilliseconds = 5000;

/** Call it before the first thread starts: it does not know earlier threads. */
export function watchMemory(): () => Promise<MemoryPart[]> {
  const workers = new Set<Worker>();
  process.on('worker', (worker: Worker) => {
    workers.add(worker);
    worker.once('exit', () => workers.delete(worker));
  });
  return async () => {
    const threads = await Promise.all(
      [...workers].map(async (worker) => {
        // Null if the thread is ending.
        const name = worker.threadName ?? 'ending threads';
        const statistics = await Promise.race([
          worker.getHeapStatistics().catch(() => undefined),
          after(responseTimeoutMilliseconds, undefined, { ref: false }),
        ]);
        return { name, bytes: statistics === undefined ? 0 : bytesOf(statistics) };
      }),
    );
    const parts = [...Map.groupBy(threads, ({ name }) => name)]
      .map(([part, members]) => ({ part, threads: members.length, bytes: sumOf(members) }))
      .toSorted((one, other) => other.bytes - one.bytes);
    const known = [{ part: 'main thread', threads: 1, bytes: bytesOf(getHeapStatistics()) }, ...parts];
    const rest = { part: 'rest of the process', threads: 0, bytes: process.memoryUsage.rss() - sumOf(known) };
    return [...known, rest];
  };
}

const bytesOf = (statistics: HeapInfo): number =>
  statistics.total_physical_size + statistics.external_memory + statistics.malloced_memory;

const sumOf = (parts: readonly { bytes: number }[]): number =>
  parts.reduce((sum, { bytes }) => sum + bytes, 0);

export const writeMemory = (file: string, parts: readonly MemoryPart[]): Promise<void> =>
  writeState(file, `${JSON.stringify(parts, null, 2)}\n`);
