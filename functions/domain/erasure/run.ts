import { lastWriteAfter } from '#domain/platform/last-write.ts';
import type { Services } from './services.ts';

/** Milliseconds of one run of a purge or an erasure: deletions of other tenants wait for it in the same queue. */
const runMilliseconds = 30_000;

/**
 * The times of a run.
 * @returns `lastWrite`: nothing that began before the deletion writes after it; `isLast`: the run began after that
 */
export function startRun({ clock }: Services<'clock'>, { deletedAt }: { deletedAt: string }) {
  const start = clock.now().getTime();
  const lastWrite = Date.parse(deletedAt) + lastWriteAfter;
  const hasTime = () => clock.now().getTime() < start + runMilliseconds;
  return { start, lastWrite, isLast: start >= lastWrite, hasTime };
}

const atOnce = 20;

/** Does the works, some of them concurrently. */
export async function inGroups<Work>(
  works: readonly Work[],
  work: (each: Work) => Promise<unknown>,
): Promise<void> {
  for (let first = 0; first < works.length; first += atOnce)
    await Promise.all(works.slice(first, first + atOnce).map(work));
}
