import * as z from 'zod';
import { limits } from './limits.ts';

/** Headers of routes that accept an idempotency key: an addition to the specification. */
export const idempotencyHeaders = z.object({
  'idempotency-key': z
    .string()
    .regex(new RegExp(`^[\\x20-\\x7e]{1,${limits.idempotencyKeyCharacters}}$`), {
      error: `must be 1 to ${limits.idempotencyKeyCharacters} printable ASCII characters`,
    })
    .optional()
    .meta({
      description: `1 to ${limits.idempotencyKeyCharacters} printable ASCII characters, such as a UUID. For ${limits.idempotencyHours} hours, a repeated request with the same key is not executed again and gets the first response. Another request with that key is rejected.`,
      example: '6f1c2a52-5c1d-4f3e-9f0a-2d6b8c1e7a90',
    }),
});

/** The response header of a replayed response; its value is `true`. */
export const replayedHeader = 'Idempotency-Replayed';
