import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';
import { afterEach, expect, it, onTestFinished, test, vi } from 'vitest';
import { processClock } from '#runtime/environment/invocation-context.ts';
import { runInvocation } from '#runtime/observability/invocation.ts';
import { log, withSourcePositions } from '#runtime/observability/log.ts';
import { sendProviderError } from '#runtime/observability/provider-errors.ts';
import { showProviderErrors } from '../../bin/local/show-provider-errors.ts';

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

test('the first 300 characters of a 4xx response are shown, and nothing of another', async () => {
  const shown: string[] = [];
  const last = Promise.withResolvers<void>();
  const end = showProviderErrors((line) => (line.endsWith(': last') ? last.resolve() : shown.push(line)));
  for (const statusCode of [399, 400, 499, 500])
    sendProviderError({ statusCode, responseBody: `${'x'.repeat(300)}y` });
  sendProviderError({ statusCode: 418, responseBody: 'last' });
  await last.promise;
  end();
  const before = 'The model provider responded with status';
  expect(shown).toEqual([`${before} 400: ${'x'.repeat(300)}`, `${before} 499: ${'x'.repeat(300)}`]);
});

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

it('does not give the ids of an invocation to work of the process that it has started', async () => {
  const lines: Record<string, unknown>[] = [];
  const add = (text: unknown) => {
    for (const line of String(text).split('\n')) if (line.startsWith('{')) lines.push(JSON.parse(line));
    return true;
  };
  vi.spyOn(process.stdout, 'write').mockImplementation(add);
  for (const method of ['log', 'info'] as const) vi.spyOn(console, method).mockImplementation(add);
  const logged = Promise.withResolvers<void>();
  let cancel = () => {};
  await runInvocation({ properties: { request_id: 'request-1' } }, async () => {
    cancel = processClock.every(1, () => {
      log.info('Line');
      logged.resolve();
    });
  });
  await logged.promise;
  cancel();
  expect(lines[0]).not.toHaveProperty('request_id');
});
