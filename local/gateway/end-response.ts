import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished } from 'node:stream';

// A client that does not read while it sends has this time to send the rest of its request.
const DRAIN_MILLISECONDS = 3000;

/**
 * Ends a response that is written. If the request is still arriving, its rest is read first: a connection that is closed
 * with unread bytes is reset, and the reset may overtake the response.
 */
export function endResponse(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete) return void response.end();
  const timer = setTimeout(() => response.end(), DRAIN_MILLISECONDS);
  finished(request, () => {
    clearTimeout(timer);
    response.end();
  });
  request.resume();
}
