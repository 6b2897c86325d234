import { bundleFunctions, functionNames, webFunctionNames } from '#lib/bundles/function-bundles.ts';
import { bundleSizes } from '#support/bundle-sizes.ts';
import { makeStartProgram, type Start } from '#support/function-start.ts';
import { median } from './statistics.ts';

/** What a function loads, and how long a fresh process takes until it is ready for its first event. */
export type FunctionReport = { name: string } & Record<string, string | number>;

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
  const sizes = bundleSizes(bundles, names);
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
  return sizes.map(({ name, start, own }) => {
    const medianOf = (value: (pair: { own: Start; empty: Start }) => number): number =>
      median((pairs.get(name) ?? []).map(value));
    return {
      name,
      'KB at start': start.bytes / 1024,
      'KB beside the baseline': own.bytes / 1024,
      modules: start.modules,
      'start, ms': medianOf(({ own }) => own.elapsed),
      'start, to an empty handler': medianOf(({ own, empty }) => own.elapsed / empty.elapsed),
      'processor, ms': medianOf(({ own }) => own.processor),
      'processor, to an empty handler': medianOf(({ own, empty }) => own.processor / empty.processor),
    };
  });
}
