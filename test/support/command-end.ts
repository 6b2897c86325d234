import { expect } from 'vitest';

/** A command that ended with this exit code, whose standard error contains the text or matches the expression. */
export const ended = (code: number, said: string | RegExp) => ({
  code,
  stderr: typeof said === 'string' ? expect.stringContaining(said) : expect.stringMatching(said),
});
