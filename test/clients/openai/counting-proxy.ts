import { createServer, request } from 'node:http';
import { type LocalServer, listenLocally } from '../../support/listen-locally.ts';

/** A server before the service. It counts the responses of each status. */
export interface CountingProxy extends LocalServer {
  counts: Map<number, number>;
}

/** @param port of the service */
export async function startCountingProxy(port: string): Promise<CountingProxy> {
  const counts = new Map<number, number>();
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
    incoming.pipe(forwarded);
  });
  return { ...(await listenLocally(server)), counts };
}
