import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { routes } from '#contract/routes.ts';
import { chatRoutes } from '#lib/chat-routes.ts';
import { usualAuthorizers } from '#lib/concurrency.ts';
import { parseSettings } from '#lib/settings.ts';
import { unknownKeyAttacks } from '#support/unknown-keys.ts';
import { assumptions } from '../../bin/cost/assumptions.ts';
import { batchOf } from '../../bin/cost/batch-of.ts';
import { dollarsOf, dollarsOfMessages } from '../../bin/cost/dollars-of.ts';
import {
  breakEvenConcurrency,
  dollarsOfInvocation,
  environmentMonthDollars,
  evenConcurrency,
  messagesAt,
} from '../../bin/cost/functions.ts';
import { type OperationName, operations } from '../../bin/cost/operations.ts';
import { renderCost } from '../../bin/cost/render-cost.ts';

it('what unknown keys can cost is in docs/limits.md', () => {
  const settings = parseSettings({ firewall: {} });
  const lines = unknownKeyAttacks({
    ...settings,
    authorizerConcurrency: usualAuthorizers,
    requestsInFiveMinutes: settings.firewall?.requestsInFiveMinutes ?? 0,
  }).map(({ what, requestsPerSecond, dollarsPerSecond }) =>
    [
      what,
      ...[requestsPerSecond, dollarsPerSecond * 3600, dollarsPerSecond * 86_400].map((value) =>
        value.toLocaleString('en', { maximumSignificantDigits: 2 }),
      ),
    ].join(' | '),
  );
  const text = readFileSync('docs/limits.md', 'utf8').replaceAll(/ +/g, ' ');
  expect(lines.filter((line) => !text.includes(`| ${line} |`))).toEqual([]);
});

it('prices the web function only where it replaces a Lambda function', () => {
  expect(dollarsOfInvocation('SendMessage') * 1e6).toBeCloseTo(0.2 + 5.1 * 13.3334);
  expect(dollarsOf(operations['batch of 10'], 20)).toEqual(dollarsOf(operations['batch of 10']));
  const withAll = dollarsOf(operations['create-chat'], 20);
  const withUploads = dollarsOf(operations['create-chat']);
  expect({ ...withAll, functions: 0 }).toEqual({ ...withUploads, functions: 0 });
  expect(withAll.functions).toBeLessThan(withUploads.functions);
  const cheaper = (Object.keys(operations) as OperationName[]).filter(
    (name) => dollarsOf(operations[name], 20).functions < dollarsOf(operations[name]).functions,
  );
  expect(new Set(cheaper.map((name) => name.split(',')[0]))).toEqual(new Set(chatRoutes));
});

it('costs at most 20 dollars for a million messages from 20 requests in an environment on, even at double rates', () => {
  expect(assumptions.usualConcurrency).toBe(20);
  for (const concurrency of [20, 64])
    for (const factor of [1, 2]) expect(dollarsOfMessages(concurrency, factor)).toBeLessThanOrEqual(20);
});

it.each([0.5, 1, 2])('breaks even where both settings cost the same, at %d times the rates', (factor) => {
  const concurrency = breakEvenConcurrency(factor);
  expect(dollarsOfMessages(concurrency, factor)).toBeCloseTo(dollarsOfMessages());
  expect(dollarsOfMessages(concurrency * 1.01, factor)).toBeLessThan(dollarsOfMessages());
});

it('serves evenly spread messages in as few environments as can take them, and always in one', () => {
  expect(assumptions.requestsPerEnvironment).toBe(parseSettings({}).requestsPerEnvironment);
  for (const concurrency of [0.02, 1, 20, 64])
    expect(evenConcurrency(messagesAt(concurrency))).toBeCloseTo(concurrency);
  expect(evenConcurrency(messagesAt(65))).toBeCloseTo(32.5);
  // The memory of one environment, by month and by message.
  const memory =
    dollarsOfInvocation('SendMessage', 1) - dollarsOfInvocation('SendMessage', Number.POSITIVE_INFINITY);
  expect(messagesAt(1) * memory).toBeCloseTo(environmentMonthDollars());
});

it('draws the line of batches through the two that are counted', () => {
  const [small, large] = [operations['batch of 30'], operations['batch of 70']];
  expect(batchOf(30)).toEqual({ ...small, invocations: { ...small.invocations, ProcessBatchItems: 2 } });
  expect(batchOf(70)).toEqual({ ...large, invocations: { ...large.invocations, ProcessBatchItems: 3 } });
  const perRequest = (large.writeUnits - small.writeUnits) / 40;
  expect(batchOf(1000).writeUnits).toBe(Math.round(small.writeUnits + perRequest * 970));
});

it('has an operation for every route', () => {
  const names = Object.keys(operations);
  const without = Object.keys(routes).filter(
    (route) => !names.some((name) => name === route || name.startsWith(`${route}, `)),
  );
  // To create a batch is part of `batch of 10`.
  expect(without).toEqual(['create-batch']);
});

it('writes no number that is none', () => {
  expect(renderCost()).not.toMatch(/NaN|undefined|Infinity|[{}]/);
});
