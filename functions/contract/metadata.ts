import * as z from 'zod';
import { countCharacters, optionalText } from './fields.ts';
import { limits } from './limits.ts';

export type Metadata = Readonly<Record<string, string>>;

const { metadataPairs, metadataKeyCharacters, metadataBytes } = limits;

const isKey = (key: string): boolean =>
  key !== '' && key.isWellFormed() && countCharacters(key) <= metadataKeyCharacters;

const value = optionalText(metadataBytes);

const pairsOf = <Value extends z.ZodType>(value: Value) =>
  z
    .preprocess(
      (given, context) => {
        // A record of zod leaves out the key `__proto__`: the pair would be lost without an error.
        if (Object.hasOwn(Object(given), '__proto__')) context.addIssue('must not have the key __proto__');
        return given;
      },
      z.record(z.string(), value),
    )
    .refine((pairs) => Object.keys(pairs).every(isKey), {
      error: `must have keys of 1 to ${metadataKeyCharacters} characters`,
      abort: true,
    });

export const unlessEmpty = (pairs: Metadata): Metadata | undefined =>
  Object.keys(pairs).length === 0 ? undefined : pairs;

export const metadata = pairsOf(value)
  .refine((pairs) => Object.keys(pairs).length <= metadataPairs, {
    error: `must have at most ${metadataPairs} pairs`,
    abort: true,
  })
  .refine((pairs) => new TextEncoder().encode(JSON.stringify(pairs)).length <= metadataBytes, {
    error: `must be at most ${metadataBytes} bytes as JSON`,
  })
  .transform(unlessEmpty);

/** null removes a pair. */
export const metadataChanges = pairsOf(value.nullable());
