/** What a page of an allowed origin may send. */
export const allowedMethods = ['GET', 'POST', 'PATCH', 'DELETE'];
export const allowedHeaders = ['x-api-key', 'content-type', 'idempotency-key', 'x-external-user-id'];

/** What it may read of a response, besides what every page may. */
export const exposedHeaders = [
  'x-request-id',
  'retry-after',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'idempotency-replayed',
  'x-reply-incomplete',
];

/** The headers of every response where pages of one origin are allowed. */
export const corsHeaders = (origin: string): Record<string, string> => ({
  'Access-Control-Allow-Origin': origin,
  'Access-Control-Expose-Headers': exposedHeaders.join(', '),
  Vary: 'Origin',
});
