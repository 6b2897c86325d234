import * as z from 'zod';
import { limits } from './limits.ts';

/** Headers of routes that accept an idempotency key: an addition to the specification. */
export const idempotencyHeaders = z.object({
  'idempotency-key': z
    .string()
    .regex(new RegExp(`^[\\x20-\\x7e]{1,${limits.idempotencyKeyCharacters}}$`), {
      error: `must be 1 to ${limits.idempotencyKeyCharacters} printable ASCII characters`,
    })
    .optional(),
});

/** The response header of a replayed response; its value is `true`. */
export const replayedHeader = 'Idempotency-Replayed';
