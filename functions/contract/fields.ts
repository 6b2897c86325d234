import * as z from 'zod';
import { limits } from './limits.ts';

export const resourceId = z.int().min(1);
export const count = z.int().min(0);
export const errorCode = z.int32().min(0);

/** Unicode code points, as JSON Schema's `maxLength` counts them. */
export function countCharacters(value: string): number {
  let count = 0;
  for (const _character of value) count += 1;
  return count;
}

const wellFormed = z
  .string()
  .refine((value) => value.isWellFormed(), { error: 'must be valid Unicode text', abort: true });

const textUpTo = (max: number) =>
  wellFormed.refine((value) => value.length <= max || countCharacters(value) <= max, {
    error: `must be at most ${max} characters`,
  });

export const optionalText = (max: number) => textUpTo(max).meta({ maxLength: max });

export const text = (max: number) =>
  textUpTo(max)
    .refine((value) => value.length > 0, { error: 'must not be empty' })
    .meta({ minLength: 1, maxLength: max });

const textOfBytes = (max: number) =>
  wellFormed
    .refine((value) => value.length > 0, { error: 'must not be empty' })
    .refine((value) => value.length * 3 <= max || new TextEncoder().encode(value).length <= max, {
      error: `must be at most ${max} bytes of UTF-8`,
    })
    .meta({ minLength: 1 });

/** `guid` accepts UUIDs of any version. */
export const uuid = z
  .guid()
  .toLowerCase()
  .meta({ override: { type: 'string', format: 'uuid' } });

export const timestamp = z.iso.datetime();

export const integerParameter = (min: number, max: number) =>
  z
    .string()
    .regex(/^-?\d{1,16}$/, { error: 'must be an integer', abort: true })
    .transform(Number)
    .refine((value) => value >= min, { error: `must be at least ${min}` })
    .refine((value) => value <= max, { error: `must be at most ${max}` })
    .meta({ override: { type: 'integer', minimum: min, maximum: max } });

/**
 * Any integer is accepted, because an unknown id gives 404. An integer outside the range of ids becomes 0, which is
 * never an id.
 */
export const idParameter = z
  .string()
  .regex(/^-?\d+$/, { error: 'must be an integer', abort: true })
  .transform((text) => idOf(BigInt(text)))
  .meta({ override: { type: 'integer' } });

export const idField = z
  .preprocess(
    (value) => (isInteger(value) ? idOf(value) : value),
    z.number().refine(Number.isInteger, { error: 'must be an integer' }),
  )
  .meta({ override: { type: 'integer' } });

/** `JSON.parse` turns an integer above 1.8 × 10^308 into Infinity. */
const isInteger = (value: unknown): value is number =>
  Number.isInteger(value) || value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY;

const idOf = (value: bigint | number): number =>
  value > 0 && value <= Number.MAX_SAFE_INTEGER ? Number(value) : 0;

/** null means absent, because serializers of some languages write every field. */
export const optional = <Schema extends z.ZodType>(schema: Schema) =>
  schema
    .nullable()
    .transform((value) => value ?? undefined)
    .optional();

export const withDefault = <Schema extends z.ZodType>(schema: Schema, value: z.output<Schema>) => {
  const nullable = schema.nullable().transform((input): z.output<Schema> => input ?? value);
  // zod omits the default of a transformed input from the JSON Schema, so it is set explicitly.
  return nullable
    .default(value as z.util.NoUndefined<z.output<typeof nullable>>)
    .meta({ override: { default: value } });
};

export const chatName = text(limits.chatNameCharacters);
export const messageText = textOfBytes(limits.messageBytes);
export const externalUserId = text(limits.externalUserIdCharacters);

export const reasoningEffort = z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);
