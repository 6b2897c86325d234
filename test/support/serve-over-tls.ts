import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { certificate } from './certificate.ts';
import { listenLocally } from './listen-locally.ts';

const usual = getCACertificates('default');
beforeAll(() => setDefaultCACertificates([...usual, certificate.cert]));
afterAll(() => setDefaultCACertificates(usual));

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

export const closeAfterTest = (close: () => unknown): void => void closing.push(close);

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export type Respond = (request: Received, response: ServerResponse) => void;

/** A server at https://localhost until the end of the test, whose certificate this process trusts. */
export async function serveOverTls(respond: Respond) {
  const received: Received[] = [];
  const server = createServer(certificate, async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request)).toString();
    const read = { path: request.url ?? '', headers: request.headers, body };
    received.push(read);
    respond(read, response);
  });
  const { port, close } = await listenLocally(server);
  closeAfterTest(close);
  return { received, origin: `https://localhost:${port}`, host: `localhost:${port}` };
}
