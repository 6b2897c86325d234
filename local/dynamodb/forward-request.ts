import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { WireResponse } from './dynamo-error.ts';
import { withEmulatorCredential } from './emulator-route/emulator-connections.ts';

export type Forward = (request: IncomingMessage, body: string | Buffer) => Promise<WireResponse>;

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
          const { statusCode: status = 500, headers } = incoming;
          buffer(incoming).then((bytes) => resolve({ status, headers, body: bytes }), reject);
        });
        outgoing.end(body);
      }),
    close: () => agent.destroy(),
  };
}

function emulatorHeaders({ headers }: IncomingMessage, contentLength: number) {
  const { host: _, 'accept-encoding': __, authorization = '', ...forwarded } = headers;
  return {
    ...forwarded,
    authorization: withEmulatorCredential(authorization),
    'content-length': contentLength,
  };
}
