import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';
import { expect, onTestFinished, test } from 'vitest';
import { withSourcePositions } from '#runtime/observability/log.ts';

const source = `
// The function is in line 4.
export function fail(): never {
  throw new Error('no');
}
`;

/** Bundles a module as lib/bundles/function-bundles.ts does, and returns the stack trace of its error as Node.js writes it. */
async function traceOf(sourcemap: boolean): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'positions-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'source.ts'), source);
  const outfile = join(folder, 'task', 'index.mjs');
  buildSync({ entryPoints: [join(folder, 'source.ts')], outfile, format: 'esm', minify: true, sourcemap });
  const { fail } = (await import(/* @vite-ignore */ pathToFileURL(outfile).href)) as { fail: () => never };
  try {
    return fail();
  } catch (error) {
    return (error as Error).stack ?? '';
  }
}

test('a trace of a bundle names its sources', async () => {
  const stack = withSourcePositions(await traceOf(true));
  expect(stack).toMatch(/^Error: no\n/);
  expect(stack).toMatch(/at .*source\.ts:4:9/);
  expect(stack).not.toContain('index.mjs');
});

test('a module without a map keeps its own places', async () => {
  const stack = await traceOf(false);
  expect(withSourcePositions(stack)).toBe(stack);
});
