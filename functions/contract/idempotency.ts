import * as z from 'zod';
import { limits } from './limits.ts';

/** Of requests that may be made again without being done twice: an addition to the specification. */
export const idempotencyHeaders = z.object({
  'idempotency-key': z
    .string()
    .regex(new RegExp(`^[\\x20-\\x7e]{1,${limits.idempotencyKeyCharacters}}$`), {
      error: `must be 1 to ${limits.idempotencyKeyCharacters} printable ASCII characters`,
    })
    .optional()
    .meta({
      description: `1 to ${limits.idempotencyKeyCharacters} printable ASCII characters, such as a UUID. For ${limits.idempotencyHours} hours the same request with the same key is done once: a repeated one gets the first one's answer. With another request the key is refused.`,
      example: '6f1c2a52-5c1d-4f3e-9f0a-2d6b8c1e7a90',
    }),
});

/** The response header of an answer that an earlier request with the same key has got: `true`. */
export const replayedHeader = 'Idempotency-Replayed';
