/** Milliseconds of one run of a purge or an erasure: deletions of other tenants wait for it in the same queue. */
export const runMilliseconds = 30_000;

const atOnce = 20;

/** Does the works, some of them concurrently. */
export async function inGroups<Work>(
  works: readonly Work[],
  work: (each: Work) => Promise<unknown>,
): Promise<void> {
  for (let first = 0; first < works.length; first += atOnce)
    await Promise.all(works.slice(first, first + atOnce).map(work));
}
