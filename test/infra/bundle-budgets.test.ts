import { expect, test } from 'vitest';
import { functionNames, webFunctionNames } from '#lib/bundles/function-bundles.ts';
import { type BundleSize, bundleSizes } from '#support/bundle-sizes.ts';
import { markdownTable } from '../../bin/cost/markdown-table.ts';
import { theBundles } from './synthesize.ts';

const names = [...functionNames, ...webFunctionNames];

/**
 * The limit for the project's own code and all packages outside the baseline at a function's start: 132 KB of 1,024
 * bytes, a tenth above today's largest function without a limit of its own. A limit finds a package that came in
 * unseen, so raise it, back to a tenth above the printed size, when our own code needs it.
 */
const budgetBytes = 132 * 1024;

/**
 * `process-batch-items` has a buffer, takes requests and hands back: 5.5 KB more than a worker of one message had.
 * `serve-chats` is `send-message` with 5.8 KB more: `create-chat` (2 KB), and what a server of many requests needs (4 KB:
 * routes, the signed caller, shares, shutdown). Both watch for stops (1.5 KB). `send-message` stores and repeats
 * resumable streams (4 KB), and `serve-chats` also resumes them (2 KB). All three register the files of messages
 * (1.7 KB). Reads beside a purge take 0.4 KB, the hashes of users
 * in the audit log 0.6 KB, the keys and the setting of retention 0.5 KB. A reply loop that also runs without a chat takes
 * 0.3 KB, and a form of responses for each interface 0.6 KB. `serve-chats` loads what serves OpenAI's clients with its first
 * request; its route and what it shares with the rest take 2.7 KB.
 * `send-message` and `serve-chats` cache histories (1.3 KB). A worker charges calls of models to the rate limit of their key.
 * All three encode images to a model while they send them (1.8 KB).
 * Replies in a form, and the one tool that a client may force, take 5 KB of `complete-chat` and 3 KB of the others; the check
 * of a schema is loaded when it is needed. The demo model, 2.5 KB, is no longer loaded at the start.
 * The reader of chat completions replaced a package of the baseline: the functions that call models lost 84 KB of it, and got
 * 15 KB of own code and `eventsource-parser` (4.4 KB). Named endpoints take 0.3 KB. Entries with many tools, the rest of
 * which is loaded when an agent has one, take 1.5 KB with the seams of the chunks of that rest.
 */
const budgetBytesOf: Partial<Record<string, number>> = {
  'complete-chat': 165 * 1024,
  'process-batch-items': 178 * 1024,
  'send-message': 176 * 1024,
  'serve-chats': 194 * 1024,
  'test-agent': 135 * 1024,
};

/**
 * A tenth above today's maximum, 100 and 176: there is room for some files of our own, and a package of many small
 * modules fails the test. Raise a limit as above.
 */
const budgetModules = 110;
const budgetModulesWithModel = 194;

const remedy =
  'import what few calls need at its first use, as functions/runtime/composition/services.ts does with tool-adapters.ts';

const sizes = await bundleSizes(await theBundles(), names);
console.log(tableOf(sizes));

test.each(sizes)(
  '$name starts with at most its budget above its clients alone',
  ({ name, start, baseline, hasModel }) => {
    // The baseline must not be empty or larger than the function, else the measurement is wrong. The smallest is that of
    // prepare-attachment, which has no client of AWS.
    expect(baseline.bytes).toBeGreaterThan(100_000);
    expect(start.bytes - baseline.bytes).toBeGreaterThan(0);
    expect(start.bytes - baseline.bytes, `bytes at the start: ${remedy}`).toBeLessThanOrEqual(
      budgetBytesOf[name] ?? budgetBytes,
    );
    expect(start.modules - baseline.modules, `modules at the start: ${remedy}`).toBeLessThanOrEqual(
      hasModel ? budgetModulesWithModel : budgetModules,
    );
  },
);

test('only the functions that ask models are allowed what models take', () => {
  expect(
    sizes
      .filter(({ hasModel }) => hasModel)
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual(['complete-chat', 'process-batch-items', 'send-message', 'serve-chats', 'test-agent']);
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
