import * as z from 'zod';
import { limits } from './limits.ts';

/**
 * Headers of the JSON response to a sent message. They describe the reply. The body has no place for that, because its
 * `data` is a string. The headers are additions to the specification.
 */
export const replyHeaders = {
  messageId: 'x-message-id',
  responseId: 'x-response-id',
  tokenUsage: 'x-token-usage',
  incomplete: 'x-reply-incomplete',
} as const;

// Methods and request headers that pages of an allowed origin may send.
export const allowedMethods = ['GET', 'POST', 'PATCH', 'DELETE'];
export const allowedHeaders = ['x-api-key', 'content-type', 'idempotency-key', 'x-external-user-id'];

/** Response headers that pages of an allowed origin may read, in addition to the headers that CORS always exposes. */
export const exposedHeaders = [
  'x-request-id',
  'retry-after',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'idempotency-replayed',
  ...Object.values(replyHeaders),
];

/** Headers of responses if the pages of one origin may read them. */
export const corsHeaders = (origin: string): Record<string, string> => ({
  'Access-Control-Allow-Origin': origin,
  'Access-Control-Expose-Headers': exposedHeaders.join(', '),
  Vary: 'Origin',
});

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
