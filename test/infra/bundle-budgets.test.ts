import { expect, test } from 'vitest';
import { functionNames, webFunctionNames } from '#lib/function-table.ts';
import { type BundleSize, bundleSizes } from '#support/bundle-sizes.ts';
import { markdownTable } from '../../bin/cost/markdown-table.ts';
import { theBundles } from './synthesize.ts';

const names = [...functionNames, ...webFunctionNames];

/** What the own code and all packages that are no clients may add to a function's start: 120 KB of 1,024 bytes. */
const budgetBytes = 120 * 1024;

/** Some more than the most today, 89 and 124: what comes along with a package shows here, however small it is. */
const budgetModules = 95;
const budgetModulesWithModel = 140;

const sizes = await bundleSizes(await theBundles(), names);
console.log(tableOf(sizes));

test.each(sizes)(
  '$name starts with at most 120 KB above its clients alone',
  ({ start, baseline, hasModel }) => {
    // A baseline of nothing, or one larger than the function, would measure something else.
    expect(baseline.bytes).toBeGreaterThan(200_000);
    expect(start.bytes - baseline.bytes).toBeGreaterThan(0);
    expect(start.bytes - baseline.bytes).toBeLessThanOrEqual(budgetBytes);
    expect(start.modules - baseline.modules).toBeLessThanOrEqual(
      hasModel ? budgetModulesWithModel : budgetModules,
    );
  },
);

test('only the two functions that ask models are allowed what models take', () => {
  expect(sizes.filter(({ hasModel }) => hasModel).map(({ name }) => name)).toEqual([
    'send-message',
    'process-batch-items',
  ]);
});

function tableOf(entries: readonly BundleSize[]): string {
  const kilobytes = (bytes: number): string => (bytes / 1024).toFixed(1);
  return markdownTable([
    ['function', 'KB at start', 'clients alone', 'above', 'loaded later', 'modules', 'clients alone'],
    ...entries.map(({ name, start, baseline, deferred }) => [
      name,
      kilobytes(start.bytes),
      kilobytes(baseline.bytes),
      kilobytes(start.bytes - baseline.bytes),
      kilobytes(deferred.bytes),
      String(start.modules),
      String(baseline.modules),
    ]),
  ]);
}
