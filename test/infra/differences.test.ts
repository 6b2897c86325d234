import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import {
  limitName,
  type RateClass,
  requestClasses,
  secondsOfUnit,
  usageClasses,
} from '#contract/rate-limits.ts';
import { deniedPorts } from '#contract/urls.ts';
import { openApiDocument } from '#lib/openapi-document.ts';
import { parseSettings } from '#lib/settings.ts';
import { differencesOf, type OpenApi } from '#support/specification/differences.ts';

const documentOf = () => structuredClone(openApiDocument('1.0.0')) as unknown as OpenApi;
const textOf = (file: string) => readFileSync(join(import.meta.dirname, '../../docs', file), 'utf8');
const lineOf = (...cells: string[]) => `| ${cells.join(' | ')} |`;

/** The rows of the table whose head starts with this cell, without alignment spaces. */
function tableOf(markdown: string, firstCell: string): string[] {
  const [, table = ''] = markdown.split(new RegExp(`^\\| ${firstCell} .*\\n.*\\n`, 'm'));
  return table
    .slice(0, table.search(/^(?!\|)/m))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) =>
      lineOf(
        ...line
          .slice(1, -1)
          .split('|')
          .map((cell) => cell.trim()),
      ),
    );
}

const differences = differencesOf(documentOf());
const lines = differences.map(({ where, difference, text }) => lineOf(`\`${where}\``, difference, text));

/** Which rows of a table to remove, and which to add after which row; empty if only the order is wrong. */
const changesOf = (found: readonly string[]): string =>
  [
    ...found.filter((line) => !lines.includes(line)).map((line) => `Remove the row\n  ${line}`),
    ...lines.flatMap((line, index) =>
      found.includes(line) ? [] : [`Add the row\n  ${line}\nafter\n  ${lines[index - 1] ?? 'the head'}`],
    ),
  ].join('\n');

test('docs/limits.md has each difference between OpenAPI and the specification, and no other, in the words of OpenAPI', () => {
  const found = tableOf(textOf('limits.md'), 'where');
  expect(found, `In the table of docs/limits.md:\n${changesOf(found)}`).toEqual(lines);
});

test('docs/limits.md has the ports that webhooks may not use', () => {
  const [, section = ''] = textOf('limits.md').split('## Ports');
  expect([...section.matchAll(/\d+/g)].map(Number)).toEqual(deniedPorts);
});

test('docs/limits.md has the default rates', () => {
  const { rateLimits } = parseSettings({});
  const unitOf = (seconds: number) =>
    ({
      [secondsOfUnit.s]: 'second',
      [secondsOfUnit.m]: 'minute',
      [secondsOfUnit.h]: 'hour',
      [secondsOfUnit.d]: 'day',
    })[seconds];
  const ratesIn = (column: string) =>
    tableOf(textOf('limits.md'), column).map((line) => line.split(' | ').toSpliced(1, 1).join(' | '));
  const textOfNumber = (number: number) => number.toLocaleString('en');
  const ratesOf = (classes: readonly RateClass[], quote: (name: RateClass) => string) =>
    classes.map((name) => {
      const { count = 0, seconds = 0, burst = 0 } = rateLimits[name] ?? {};
      return lineOf(quote(name), `${textOfNumber(count)} a ${unitOf(seconds)}`, textOfNumber(burst));
    });
  expect(ratesIn('class')).toEqual(ratesOf(requestClasses, (name) => `\`${name}\``));
  expect(ratesIn('used')).toEqual(ratesOf(usageClasses, (name) => `\`${limitName(name)}\``));
});

/** Kinds of which the table has none: it shows that all others are found. */
describe('a difference is found when', () => {
  it.each<[what: string, change: (document: OpenApi) => void, where: string, difference: string]>([
    [
      'a field is missing',
      ({ components: { schemas } }) => delete schemas.Batch?.properties?.agent_id,
      'Batch agent_id',
      'missing',
    ],
    [
      'a limit of the specification is another',
      ({ components: { schemas } }) =>
        Object.assign(schemas.CreateChatRequest?.properties?.name ?? {}, { maxLength: 100 }),
      'POST /chats name',
      'minLength 1, maxLength 100, not maxLength 256',
    ],
  ])('%s', (_what, change, where, difference) => {
    const document = documentOf();
    change(document);
    expect(differencesOf(document)).toContainEqual(expect.objectContaining({ where, difference }));
    expect(differences).not.toContainEqual(expect.objectContaining({ where, difference }));
  });
});
