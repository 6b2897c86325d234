import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import type { WireResponse } from './dynamo-error.ts';
import { withEmulatorCredential } from './emulator-route/emulator-connections.ts';

export type Forward = (request: IncomingMessage, body: string | Buffer) => Promise<WireResponse>;

/** Forwards requests to the emulator at this URL, over persistent connections. */
export function createForwarder(emulator: string): { readonly forward: Forward; close(): void } {
  const agent = new Agent({ keepAlive: true });
  return {
    forward: (request, body) =>
      new Promise((resolve, reject) => {
        const outgoing = httpRequest(emulator, {
          agent,
          method: request.method ?? 'POST',
          headers: emulatorHeaders(request, Buffer.byteLength(body)),
        });
        outgoing.on('error', reject);
        outgoing.on('response', (incoming) => {
          readAll(incoming).then(
            (bytes) =>
              resolve({ status: incoming.statusCode ?? 500, headers: incoming.headers, body: bytes }),
            reject,
          );
        });
        outgoing.end(body);
      }),
    close: () => agent.destroy(),
  };
}

function emulatorHeaders(request: IncomingMessage, contentLength: number) {
  const {
    host: _,
    'content-length': __,
    'accept-encoding': ___,
    authorization = '',
    ...headers
  } = request.headers;
  return {
    ...headers,
    authorization: withEmulatorCredential(authorization),
    'content-length': contentLength,
  };
}

export async function readAll(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
