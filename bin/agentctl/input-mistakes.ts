import type * as z from 'zod';

/** Gets each mistake of a file, and may throw. */
export type OnMistake = (mistake: string) => void;

export const throwMistake: OnMistake = (mistake) => {
  throw new Error(mistake);
};

/** Says where the wrong fields of a row are, and what is wrong with them. */
export type Describe = (issues: readonly z.core.$ZodIssue[]) => string[];
