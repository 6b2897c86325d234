import * as z from 'zod';
import { limits } from './limits.ts';

/** Unicode characters (code points), as JSON Schema's maxLength counts them; `length` counts UTF-16 units. */
function countCharacters(value: string): number {
  let count = 0;
  for (const _character of value) count += 1;
  return count;
}

const wellFormed = z
  .string()
  .refine((value) => value.isWellFormed(), { error: 'must be valid Unicode text', abort: true });

/** Text of 0 to `max` characters. */
export const optionalText = (max: number) =>
  wellFormed
    .refine((value) => value.length <= max || countCharacters(value) <= max, {
      error: `must be at most ${max} characters`,
    })
    .meta({ maxLength: max });

/** Text of 1 to `max` characters. */
export const text = (max: number) =>
  wellFormed
    .refine((value) => value.length > 0, { error: 'must not be empty' })
    .refine((value) => value.length <= max || countCharacters(value) <= max, {
      error: `must be at most ${max} characters`,
    })
    .meta({ minLength: 1, maxLength: max });

/** Text of at least one character whose UTF-8 form has at most `max` bytes. */
const textOfBytes = (max: number) =>
  wellFormed
    .refine((value) => value.length > 0, { error: 'must not be empty' })
    .refine((value) => value.length * 3 <= max || new TextEncoder().encode(value).length <= max, {
      error: `must be at most ${max} bytes of UTF-8`,
    })
    .meta({ minLength: 1, description: `At most ${max.toLocaleString('en')} bytes of UTF-8.` });

/** Any 8-4-4-4-12 form, in lower case: an id of an unknown version is not found rather than malformed. */
export const uuid = z
  .guid()
  .toLowerCase()
  .meta({ override: { type: 'string', format: 'uuid' } });

export const timestamp = z.iso.datetime().meta({ description: 'ISO 8601, UTC, milliseconds.' });

/** An integer given as text in a path or a query. */
export const integerParameter = (min: number, max: number = Number.MAX_SAFE_INTEGER) =>
  z
    .string()
    .regex(/^-?\d{1,16}$/, { error: 'must be an integer', abort: true })
    .transform(Number)
    .refine((value) => value >= min, { error: `must be at least ${min}` })
    .refine((value) => value <= max, { error: `must be at most ${max}` })
    .meta({ override: { type: 'integer', minimum: min, maximum: max } });

/**
 * The id of a chat or message in a path: any integer, since what names nothing is not found rather than malformed. An
 * integer that no id can be is read as 0, the id of nothing; as a number it would round to another one.
 */
export const idParameter = z
  .string()
  .regex(/^-?\d+$/, { error: 'must be an integer', abort: true })
  .transform((text) => idOf(BigInt(text)))
  .meta({ override: { type: 'integer' } });

/** The same in a JSON body. */
export const idField = z
  .preprocess(
    (value) => (isInteger(value) ? idOf(value) : value),
    z.number().refine(Number.isInteger, { error: 'must be an integer' }),
  )
  .meta({ override: { type: 'integer' } });

/** JSON.parse reads an integer of more than 308 digits as infinite. */
const isInteger = (value: unknown): value is number =>
  Number.isInteger(value) || value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY;

const idOf = (value: bigint | number): number =>
  value > 0 && value <= Number.MAX_SAFE_INTEGER ? Number(value) : 0;

/** A field of a body that may be left out, or be null: serializers of some languages write every field. */
export const optional = <Schema extends z.ZodType>(schema: Schema) =>
  schema
    .nullable()
    .transform((value) => value ?? undefined)
    .optional();

/** The same, of a field with a default. */
export const withDefault = <Schema extends z.ZodType>(schema: Schema, value: z.output<Schema>) => {
  const given = schema.nullable().transform((input): z.output<Schema> => input ?? value);
  // JSON Schema leaves the default of a transformed input out, unless it is told.
  return given
    .default(value as z.util.NoUndefined<z.output<typeof given>>)
    .meta({ override: { default: value } });
};

export const chatName = text(limits.chatNameCharacters).meta({ id: 'ChatName' });
export const messageText = textOfBytes(limits.messageBytes).meta({ id: 'MessageText' });
export const externalUserId = text(limits.externalUserIdCharacters).meta({ id: 'ExternalUserId' });
