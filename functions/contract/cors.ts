import { replyHeaders } from './reply-headers.ts';

/** Methods and headers that pages of an allowed origin may send. */
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

/** Headers of every response if the pages of one origin are allowed. */
export const corsHeaders = (origin: string): Record<string, string> => ({
  'Access-Control-Allow-Origin': origin,
  'Access-Control-Expose-Headers': exposedHeaders.join(', '),
  Vary: 'Origin',
});
