import * as z from 'zod';
import { optional, text } from './fields.ts';

/** OpenAI's `response_format`, an addition to the specification. The client's `strict` has no effect. */
export const responseFormat = z
  .object({
    type: z.enum(['text', 'json_object', 'json_schema']),
    json_schema: optional(
      z
        .object({
          name: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/, {
            error: 'must be 1 to 64 letters, digits, underscores or hyphens',
          }),
          description: optional(text(1024)),
          schema: z.record(z.string(), z.unknown()),
          strict: optional(z.boolean()),
        })
        .meta({ id: 'JsonSchemaFormat' }),
    ),
  })
  .refine(({ type, json_schema }) => type !== 'json_schema' || json_schema !== undefined, {
    path: ['json_schema'],
    error: 'is required for the type json_schema',
  })
  .meta({ id: 'ResponseFormat' });

export type ResponseFormat = z.output<typeof responseFormat>;
