import * as z from 'zod';

/** What Amazon Bedrock takes too. Longer ones are no questions, and each further word makes the answer vaguer. */
const queryCharacters = 1000;

export const query = z
  .string()
  .min(1)
  .max(queryCharacters)
  .describe('What to look for: the words that the passage would use.');

/** Four digits tell results apart. */
export const scoreOf = (score: number): number => Math.round(score * 1e4) / 1e4;
