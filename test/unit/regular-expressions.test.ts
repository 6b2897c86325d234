import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'oxc-parser';
import { checkSync } from 'recheck';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** Patterns that take more than linear time: the file of each, with the bound of its input. */
const bounded: Readonly<Record<string, string>> = {};

/** The library judges by counted steps: by its own limits of time, a slow machine makes each pattern vulnerable. */
const countedSteps = { timeout: null, attackTimeout: null, incubationTimeout: null, seedingTimeout: null };

interface Literal {
  file: string;
  source: string;
  flags: string;
}

const isNode = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** All regular expressions of a syntax tree. */
function* literalsIn(node: unknown, file: string): Generator<Literal> {
  if (!isNode(node)) return;
  const { type, regex, callee } = node as {
    type?: string;
    regex?: { pattern: string; flags: string };
    callee?: { name?: string };
  };
  if (type === 'Literal' && regex !== undefined) yield { file, source: regex.pattern, flags: regex.flags };
  if (callee?.name === 'RegExp') yield { file, source: 'RegExp', flags: '' };
  for (const value of Object.values(node)) yield* literalsIn(value, file);
}

const files = globSync('{functions,lib/client}/**/*.ts', { cwd: root }).filter(
  (file) => !file.includes('/dist/'),
);
const all = files.flatMap((file) => [
  ...literalsIn(parseSync(file, readFileSync(join(root, file), 'utf8')).program, file),
]);

test('the patterns are found', () => {
  expect(files.length).toBeGreaterThan(250);
  expect(all.length).toBeGreaterThan(70);
});

test('a pattern that is made of text is made of a text of our own: a path, a number', () => {
  const made = all.filter(({ source }) => source === 'RegExp').map(({ file }) => file);
  expect(made.toSorted()).toEqual([
    'functions/contract/headers.ts',
    'functions/runtime/http/serve-routes.ts',
  ]);
});

test('every pattern takes linear time, or reads a text with a small limit', () => {
  const slow = all
    .filter(({ source }) => source !== 'RegExp')
    .map((literal) => ({ ...literal, ...checkSync(literal.source, literal.flags, countedSteps) }))
    .filter(({ status }) => status !== 'safe');
  expect(slow.map(({ file, source, status }) => `${file}: /${source}/ is ${status}`)).toEqual(
    Object.keys(bounded).map((file) => expect.stringContaining(`${file}: `)),
  );
});
