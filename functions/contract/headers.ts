import * as z from 'zod';
import { limits } from './limits.ts';

/** Additions to the specification: `data` of the JSON reply is only a string. */
export const replyHeaders = {
  messageId: 'x-message-id',
  responseId: 'x-response-id',
  tokenUsage: 'x-token-usage',
  incomplete: 'x-reply-incomplete',
} as const;

export const allowedMethods = ['GET', 'POST', 'PATCH', 'DELETE'];
export const allowedHeaders = ['x-api-key', 'content-type', 'idempotency-key', 'x-external-user-id'];

/** In addition to those that CORS always exposes. */
export const exposedHeaders = [
  'x-request-id',
  'retry-after',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'idempotency-replayed',
  ...Object.values(replyHeaders),
];

export const corsHeaders = (origin: string): Record<string, string> => ({
  'Access-Control-Allow-Origin': origin,
  'Access-Control-Expose-Headers': exposedHeaders.join(', '),
  Vary: 'Origin',
});

/** An addition to the specification. */
export const idempotencyHeaders = z.object({
  'idempotency-key': z
    .string()
    .regex(new RegExp(`^[\\x20-\\x7e]{1,${limits.idempotencyKeyCharacters}}$`), {
      error: `must be 1 to ${limits.idempotencyKeyCharacters} printable ASCII characters`,
    })
    .optional(),
});

export const replayedHeader = 'Idempotency-Replayed';
