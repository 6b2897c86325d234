import { readFile } from 'node:fs/promises';
import { expect } from 'vitest';

/** A command that ended with this exit code, whose standard error is the text or matches the expression. */
export const ended = (code: number, said: string | RegExp) => ({
  code,
  stderr: typeof said === 'string' ? said : expect.stringMatching(said),
});

export const jsonLinesIn = <Line = Record<string, unknown>>(text: string): Line[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

export const readJsonLines = async (file: string) => jsonLinesIn(await readFile(file, 'utf8'));
