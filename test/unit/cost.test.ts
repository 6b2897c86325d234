import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { routes } from '#contract/routes.ts';
import { usualAuthorizers } from '#lib/concurrency.ts';
import { parseSettings } from '#lib/settings.ts';
import { unknownKeyAttacks } from '#support/unknown-keys.ts';
import { operations } from '../../bin/cost/operations.ts';
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

it('has an operation for every route', () => {
  const names = Object.keys(operations);
  const without = Object.keys(routes).filter(
    (route) => !names.some((name) => name === route || name.startsWith(`${route}, `)),
  );
  // To create a batch is part of `batch of 10`.
  expect(without).toEqual(['create-batch']);
});

it('writes docs/cost.md, in which no number is none', () => {
  expect(renderCost()).toBe(readFileSync('docs/cost.md', 'utf8'));
  expect(renderCost()).not.toMatch(/NaN|undefined|Infinity|[{}]/);
});
