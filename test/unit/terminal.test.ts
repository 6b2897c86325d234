import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeProgress, progressLine } from '../../bin/agentctl/progress-line.ts';
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

describe('a line of progress', () => {
  it('tells share, count, rate and time left', () => {
    const progress = { done: 2500, total: 10_000, from: 0, counted: '2,500 requests' };
    expect(describeProgress(progress, 10)).toBe('[###.........]   25%  2,500 requests  250/s  30 s left');
  });

  it('counts rate and time left from where this run began', () => {
    const progress = { done: 600, total: 1000, from: 500, counted: '10 requests' };
    expect(describeProgress(progress, 20)).toContain('5.0/s  2 min left');
    expect(describeProgress({ ...progress, done: 500 }, 20)).toBe('[######......]   50%  10 requests');
  });
});

describe('where it is drawn', () => {
  const progress = { done: 10, total: 10, from: 0, counted: '10 requests' };
  const terminal = (isTTY: boolean, now?: () => number) => {
    let written = '';
    const write = (text: string): boolean => {
      written += text;
      return true;
    };
    return { line: progressLine({ isTTY, columns: 40, write }, now), written: () => written };
  };

  it('is a terminal: within its width, below what is told, and gone in the end', () => {
    const { line, written } = terminal(true);
    line.show(progress);
    line.log('Too many requests');
    line.clear();
    const parts = written().split('\r\u001b[2K').slice(1);
    expect(parts).toEqual([
      expect.stringMatching(/^\[#{12}\] {2}100%/),
      'Too many requests\n',
      expect.stringMatching(/^\[#{12}\] {2}100%/),
      '',
    ]);
    expect(parts[0]?.length).toBeLessThan(40);
  });

  it('is a line every ten seconds elsewhere, without control codes', () => {
    let seconds = 0;
    const { line, written } = terminal(false, () => seconds * 1000);
    for (const done of [10, 20, 30, 40]) {
      line.show({ done, total: 40, from: 0, counted: `${done} requests` });
      seconds += 5;
    }
    line.log('Too many requests');
    line.clear();
    expect(written()).toBe('[#########...]   75%  30 requests  3.0/s  4 s left\nToo many requests\n');
  });
});
