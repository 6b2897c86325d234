import { expect, inject, it, vi } from 'vitest';
import { runSoak } from '#support/soak/run-soak.ts';
import { plantProblems } from '#support/stored/plant-problems.ts';
import { storedProblems } from '#support/stored/stored-problems.ts';

/** How long the load lasts in `npm run soak`; in CI it lasts five seconds. */
const minutes = Number(process.env.SOAK_MINUTES ?? 0);
const isLong = minutes > 0;

/** If memory grows by more than this share of its mean while it is measured, it is reported as a leak. */
const growthAtMost = 0.1;

// The time for the load, then for everything to end; a busy machine starts slowly.
vi.setConfig({ testTimeout: (minutes * 60 + (isLong ? 1200 : 300)) * 1000 });

it('under mixed load and kills nothing fails but what was asked to, and nothing is left behind', async () => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
  console.log(`SEED=${seed}`);
  const seconds = isLong ? minutes * 60 : 5;
  const warmUp = isLong ? Math.min(300, seconds / 4) : 0;
  const report = await runSoak({
    assembly: inject('assembly'),
    seed,
    seconds,
    users: isLong ? 6 : 3,
    killEvery: isLong ? 10 : 2,
    warmUp,
    // Work that a kill has interrupted may wait for ten minutes (docs/batches.md), but rarely does.
    closing: isLong ? 660 : 150,
    // Checks that the check of the stores finds planted problems.
    afterCheck: async (stores) => {
      // The report already has the problems from before.
      const before = new Set(await storedProblems(stores));
      const expected = await plantProblems(stores);
      const problems = (await storedProblems(stores)).filter((problem) => !before.has(problem));
      for (const problem of expected) expect(problems).toContainEqual(expect.stringMatching(problem));
      expect(problems).toHaveLength(expected.length);
    },
  });
  console.dir(report, { depth: null, maxArrayLength: null });
  const { unexpected, violations, problems } = report;
  expect({ unexpected, violations, problems }).toEqual({ unexpected: [], violations: [], problems: [] });
  if (seconds - warmUp >= 600)
    for (const [part, { growth }] of Object.entries(report.memory))
      expect.soft(growth, part).toBeLessThanOrEqual(growthAtMost);
  expect(report.done['streamed reply']?.count).toBeGreaterThan(0);
  expect(report.batches.submitted).toBeGreaterThan(0);
});
