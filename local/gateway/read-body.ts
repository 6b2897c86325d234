import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished } from 'node:stream';
import { GatewayFailure } from './gateway-failure.ts';

// API Gateway's limit for the body of a request.
const MAX_BODY_BYTES = 10 * 1024 * 1024;

// A body that is too long is still read, up to this size, so that the client gets the response.
const MAX_DRAINED_BYTES = 200 * 1024 * 1024;

/** @throws GatewayFailure REQUEST_TOO_LARGE for more than 10 MiB; Error if the client disconnects before the end */
export function readBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const tooLong = () =>
      new GatewayFailure('REQUEST_TOO_LARGE', `HTTP content length exceeded ${MAX_BODY_BYTES} bytes.`);
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
      else chunks.length = 0;
      if (bytes > MAX_DRAINED_BYTES) {
        request.pause();
        reject(tooLong());
      }
    });
    request.on('end', () => (bytes > MAX_BODY_BYTES ? reject(tooLong()) : resolve(Buffer.concat(chunks))));
    request.on('error', reject);
    request.on('close', () => reject(new Error('The client disconnected before its request was complete')));
  });
}

// A client that does not read while it sends has this time to send the rest of its request.
const DRAIN_MILLISECONDS = 3000;

/**
 * Gives the client time to send the rest of the request: a connection that is closed with unread bytes is reset, and
 * the reset may overtake the response.
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
