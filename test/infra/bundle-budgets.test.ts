import { expect, test } from 'vitest';
import { functionNames, webFunctionNames } from '#lib/bundles/function-bundles.ts';
import { type BundleSize, bundleSizes, deferredBytes, filesOfStart } from '#support/bundle-sizes.ts';
import { markdownTable } from '../../bin/cost/markdown-table.ts';
import { theBundles } from './synthesize.ts';

const names = [...functionNames, ...webFunctionNames];

/**
 * The limit for the project's own code and all packages outside the baseline at a function's start, in KB of 1,024
 * bytes: a tenth above today's largest function without a limit of its own, but for receive-uploads, which takes 132. A
 * limit finds a package that came in unseen, so raise it above the printed size when our own code needs it.
 */
const budgetBytes = 133 * 1024;

/** What functions take that call models: the largest serves chats, and so both sends messages and resumes streams. */
const budgetBytesOf: Partial<Record<string, number>> = {
  'complete-chat': 161 * 1024,
  'process-batch-items': 175 * 1024,
  'send-message': 172 * 1024,
  'serve-chats': 185 * 1024,
  'test-agent': 130 * 1024,
};

/**
 * A tenth above today's maximum, 102 and 144: there is room for some files of our own, and a package of many small
 * modules fails the test. Raise a limit as above.
 */
const budgetModules = 112;
const budgetModulesWithModel = 158;

/** A tenth above today's maximum, that of the functions with files. */
const baselineBytes = 515 * 1024;

const remedy =
  'import what few calls need at its first use, as functions/runtime/composition/services.ts does with tool-adapters.ts';

const bundles = await theBundles();
const metafile = bundles.metafile();
const sizes = bundleSizes(bundles, names);
console.log(tableOf(sizes));

test.each(sizes)('$name starts with at most its budget beside the baseline', ({ name, start, own }) => {
  // Else the measurement is wrong.
  expect(start.bytes - own.bytes).toBeGreaterThan(100_000);
  expect(start.bytes - own.bytes, `bytes of the baseline: ${remedy}`).toBeLessThanOrEqual(baselineBytes);
  expect(own.bytes).toBeGreaterThan(20_000);
  expect(own.bytes, `bytes at the start: ${remedy}`).toBeLessThanOrEqual(budgetBytesOf[name] ?? budgetBytes);
  expect(own.modules, `modules at the start: ${remedy}`).toBeLessThanOrEqual(
    name in budgetBytesOf ? budgetModulesWithModel : budgetModules,
  );
});

const withTools = ['complete-chat', 'process-batch-items', 'send-message', 'serve-chats', 'test-agent'];

test.each(
  withTools.flatMap((name) => ['function-tools', 'remote-tools'].map((module) => [name, module] as const)),
)(
  '%s loads at most 45 KB of %s for an agent with such tools, and nothing of it for others',
  (name, module) => {
    const bytes = deferredBytes(metafile, name, module);
    expect(bytes).toBeGreaterThan(5000);
    expect(bytes).toBeLessThanOrEqual(45 * 1024);
  },
);

test.each(withTools)('%s loads at most 230 KB at the first call of MCP, and nothing at its start', (name) => {
  const inputs = Object.entries(metafile.outputs[`bundles/${name}/mcp-client.mjs`]?.inputs ?? {});
  // With a copy of zod, which the start has too, it is 310 KB.
  const client = inputs
    .filter(([source]) => !source.includes('node_modules/zod/'))
    .reduce((bytes, [, { bytesInOutput }]) => bytes + bytesInOutput, 0);
  expect(client).toBeGreaterThan(100_000);
  expect(client).toBeLessThanOrEqual(230 * 1024);
  const sources = [...filesOfStart(metafile, name)].flatMap((file) =>
    Object.entries(metafile.outputs[file]?.inputs ?? {}).filter(([, { bytesInOutput }]) => bytesInOutput > 0),
  );
  const remote = /agents\/tools\/kinds|adapters\/(?:mcp|outbound\/remote-http)|modelcontextprotocol/;
  expect(sources.map(([source]) => source).filter((source) => remote.test(source))).toEqual([]);
});

function tableOf(entries: readonly BundleSize[]): string {
  const kilobytes = (bytes: number): string => (bytes / 1024).toFixed(1);
  return markdownTable([
    ['function', 'KB at start', 'beside the baseline', 'loaded later', 'modules', 'beside the baseline'],
    ...entries.map(({ name, start, own, deferred }) => [
      name,
      kilobytes(start.bytes),
      kilobytes(own.bytes),
      kilobytes(deferred.bytes),
      String(start.modules),
      String(own.modules),
    ]),
  ]);
}
