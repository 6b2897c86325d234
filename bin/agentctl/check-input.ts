import { throwMistake } from './input-mistakes.ts';
import type { Input } from './input-records.ts';
import { readPortions } from './read-portions.ts';
import type { Accepted } from './submission-journal.ts';

/** What is left to submit of a file. Characters are Unicode code points of the messages. */
export type InputSize = Record<'requests' | 'batches' | 'characters', number>;

const mistakesShown = 20;

/**
 * @param submitted the accepted batches of the first round, or with `lines`, of the retry
 * @param lines those that a retry submits; undefined for all lines
 * @throws Error such as for changed lines, or for mistakes; `log` gets the first 20 if there are several
 */
export async function checkInput(
  input: Input,
  submitted: readonly Accepted[],
  log: (line: string) => void,
  lines?: readonly number[],
): Promise<InputSize> {
  const mistakes: string[] = [];
  let count = 0;
  const onMistake = (mistake: string) => {
    count += 1;
    if (mistakes.length < mistakesShown) mistakes.push(mistake);
  };
  const size: InputSize = { requests: 0, batches: 0, characters: 0 };
  for await (const { requests } of readPortions(input, { submitted, lines, onMistake })) {
    size.batches += 1;
    size.requests += requests.length;
    for (const { message } of requests) size.characters += countCharacters(message);
  }
  if (count === 1) mistakes.forEach(throwMistake);
  if (count === 0) return size;
  for (const mistake of mistakes) log(mistake);
  const more = count - mistakes.length;
  throw new Error(
    `${input.file} has ${count} mistakes${more > 0 ? `, the first ${mistakesShown} are above` : ''}; nothing was sent`,
  );
}

/** The Unicode code points of a well-formed text. */
const countCharacters = (text: string): number => text.length - (text.match(/[\ud800-\udbff]/g)?.length ?? 0);
