import type * as z from 'zod';

export type OnMistake = (mistake: string) => void;

export const throwMistake: OnMistake = (mistake) => {
  throw new Error(mistake);
};

export type Describe = (issues: readonly z.core.$ZodIssue[]) => string[];
