import { expect, it } from 'vitest';
import { trimTitle } from '#agents/title.ts';

it.each([
  ['Plan my trip', 'Plan my trip'],
  ['  many  spaces \t here ', 'many spaces here'],
  ['', undefined],
  [' \n ', undefined],
  ['\n\nThe second line\nand a third', 'The second line'],
  ['"Plan a trip"', 'Plan a trip'],
  ['**Title: Plan a trip**', 'Plan a trip'],
  ['„Eine Reise planen“', 'Eine Reise planen'],
  ['“”', undefined],
  ['a'.repeat(60), 'a'.repeat(60)],
  ['a'.repeat(61), `${'a'.repeat(59)}…`],
  [`${'word '.repeat(12)}last`, 'word '.repeat(12).trim()],
  ['🙂'.repeat(61), `${'🙂'.repeat(59)}…`],
])('the title made from %j is %j', (text, title) => {
  expect(trimTitle(text)).toBe(title);
});
