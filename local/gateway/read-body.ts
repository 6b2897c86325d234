import type { IncomingMessage } from 'node:http';
import { GatewayFailure } from './gateway-failure.ts';

// API Gateway's limit for a request.
const MAX_BODY_BYTES = 10 * 1024 * 1024;

// A body that is too long is read to its end all the same, so that its sender sees the answer; not without limit.
const MAX_DRAINED_BYTES = 200 * 1024 * 1024;

/** The request's body; fails when it is longer than API Gateway takes, after all of it has been received. */
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
    request.on('close', () => reject(new Error('The client left before its request was complete')));
  });
}
