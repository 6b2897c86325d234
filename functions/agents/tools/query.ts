import * as z from 'zod';

/** Amazon Bedrock's own limit. More words only make the results less precise. */
const queryCharacters = 1000;

export const query = z
  .string()
  .min(1)
  .max(queryCharacters)
  .describe(
    'What to look for: the words that the passage would use. Only the first 32 different words count.',
  );

/** Four decimal places are enough to compare results. */
export const scoreOf = (score: number): number => Math.round(score * 1e4) / 1e4;
