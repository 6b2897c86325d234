import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { terminalText } from '../../bin/terminal.ts';

const bin = join(import.meta.dirname, '../../bin');

it('escapes each control character as JSON does, and nothing else', () => {
  const codes = Array.from({ length: 0x1_0000 }, (_, code) => code);
  const escaped = codes.filter((code) => terminalText(String.fromCharCode(code)).length > 1);
  const range = (first: number, last: number) => codes.slice(first, last + 1);
  expect(escaped).toEqual([
    ...range(0, 0x1f),
    ...range(0x7f, 0x9f),
    ...range(0x2028, 0x202e),
    ...range(0x2066, 0x2069),
  ]);
  for (const character of escaped.map((code) => String.fromCharCode(code)))
    expect(JSON.parse(`"${terminalText(character)}"`)).toBe(character);
  expect(terminalText('a\tb\n\u001b', '\n\t')).toBe('a\tb\n\\u001b');
});

it('is used for all output of agentctl and npm start: only three files more write to a stream, a screen, its line and the steps of a start', () => {
  const files = ['agentctl', 'local'].flatMap((folder) =>
    readdirSync(join(bin, folder))
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `${folder}/${name}`),
  );
  const writing = files.filter((file) =>
    /\bconsole\.|\.std(out|err)\.write|terminal\.write/.test(readFileSync(join(bin, file), 'utf8')),
  );
  expect(writing).toEqual(['agentctl/progress-line.ts', 'agentctl/reply-screen.ts', 'local/start-steps.ts']);
});
