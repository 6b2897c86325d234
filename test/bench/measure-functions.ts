import { bundleFunctions } from '#lib/function-bundles.ts';
import { functionNames, webFunctionNames } from '#lib/function-table.ts';
import { bundleSizes } from '#support/bundle-sizes.ts';
import { makeStartProgram, type Start } from '#support/function-start.ts';
import { markdownTable } from '../../bin/cost/markdown-table.ts';
import type { FunctionReport } from './report.ts';
import { formatNumber } from './report-table.ts';
import { percentile } from './statistics.ts';

/**
 * Each round starts every function once, and an empty handler before each, so that other load on the machine slows down
 * both.
 */
export async function measureFunctions(
  rounds: number,
  log: (line: string) => void,
): Promise<FunctionReport[]> {
  const names = [...functionNames, ...webFunctionNames];
  const bundles = await bundleFunctions(names);
  const sizes = await bundleSizes(bundles, names);
  const program = await makeStartProgram();
  const pairs = new Map(names.map((name) => [name as string, [] as { own: Start; empty: Start }[]]));
  try {
    for (let round = 1; round <= rounds; round += 1) {
      for (const [name, pair] of pairs) {
        const empty = await program.load(program.emptyModule);
        pair.push({ empty, own: await program.load(`${bundles.folderOf(name)}/index.mjs`) });
      }
      log(`round ${round} of ${rounds}`);
    }
  } finally {
    await program.close();
  }
  return sizes.map(({ name, start, baseline }) => {
    const medianOf = (value: (pair: { own: Start; empty: Start }) => number): number =>
      percentile((pairs.get(name) ?? []).map(value), 0.5);
    return {
      name,
      kilobytes: start.bytes / 1024,
      above: (start.bytes - baseline.bytes) / 1024,
      modules: start.modules,
      milliseconds: medianOf(({ own }) => own.elapsed),
      ratio: medianOf(({ own, empty }) => own.elapsed / empty.elapsed),
      processor: medianOf(({ own }) => own.processor),
      processorRatio: medianOf(({ own, empty }) => own.processor / empty.processor),
    };
  });
}

export const functionTable = (functions: readonly FunctionReport[]): string =>
  markdownTable([
    [
      'function',
      'KB at start',
      'KB above its clients',
      'modules',
      'start, ms',
      'to an empty handler',
      'processor, ms',
      'to an empty handler',
    ],
    ...functions.map(({ name, ...figures }) => [
      name,
      formatNumber(figures.kilobytes),
      formatNumber(figures.above),
      formatNumber(figures.modules),
      formatNumber(figures.milliseconds),
      formatNumber(figures.ratio),
      formatNumber(figures.processor),
      formatNumber(figures.processorRatio),
    ]),
  ]);
