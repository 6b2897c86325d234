import { setTimeout as after } from 'node:timers/promises';
import { getHeapStatistics, type HeapInfo } from 'node:v8';
import type { Worker } from 'node:worker_threads';
import { writeState } from '#local/data/state-file.ts';

export interface MemoryPart {
  /** `main thread`, the name of a function's or engine's threads, or `rest of the process`. */
  part: string;
  threads: number;
  /** Of a heap's pages, what its objects hold outside of it, and what V8 took for its own work. */
  bytes: number;
}

/** A thread that computes without an end tells nothing. */
const responseMilliseconds = 5000;

/**
 * Tells this process's memory by part. To be asked before the first thread starts: it learns of each as it does.
 * The parts' sum is what is resident; the rest is Node.js itself, its stacks and all that no heap knows of.
 */
export function watchMemory(): () => Promise<MemoryPart[]> {
  const workers = new Set<Worker>();
  process.on('worker', (worker: Worker) => {
    workers.add(worker);
    worker.once('exit', () => workers.delete(worker));
  });
  return async () => {
    const threads = await Promise.all(
      [...workers].map(async (worker) => {
        // Null when it is gone with the exit that ends it.
        const name = worker.threadName ?? 'ending threads';
        const statistics = await Promise.race([
          worker.getHeapStatistics().catch(() => undefined),
          after(responseMilliseconds, undefined, { ref: false }),
        ]);
        return { name, bytes: statistics === undefined ? 0 : bytesOf(statistics) };
      }),
    );
    const parts = [...Map.groupBy(threads, ({ name }) => name)]
      .map(([part, those]) => ({ part, threads: those.length, bytes: sumOf(those) }))
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
