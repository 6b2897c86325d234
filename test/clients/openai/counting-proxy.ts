import { createServer, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { type LocalServer, listenLocally } from '../../support/listen-locally.ts';

/** A server before the service. It counts the responses of each status, and keeps the bodies of requests. */
export interface CountingProxy extends LocalServer {
  counts: Map<number, number>;
  bodies: Promise<string>[];
}

/** @param port of the service */
export async function startCountingProxy(port: string): Promise<CountingProxy> {
  const counts = new Map<number, number>();
  const bodies: Promise<string>[] = [];
  const server = createServer((incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    const forwarded = request({ host: '127.0.0.1', port, method, path, headers }, (response) => {
      const { statusCode = 0 } = response;
      counts.set(statusCode, (counts.get(statusCode) ?? 0) + 1);
      outgoing.writeHead(statusCode, response.headers);
      response.pipe(outgoing);
      response.once('error', () => outgoing.destroy());
    });
    forwarded.once('error', () => outgoing.destroy());
    outgoing.once('close', () => forwarded.destroy());
    bodies.push(text(incoming));
    incoming.pipe(forwarded);
  });
  return { ...(await listenLocally(server)), counts, bodies };
}
