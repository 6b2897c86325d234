// Serves the page of docs/examples/use-chat, and its route, as a framework would. Prints its address.
import { createReadStream } from 'node:fs';
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { POST } from './handler.js';

const page =
  '<!doctype html><link rel="icon" href="data:,"><div id="root"></div><script src="/bundle.js"></script>';

const server = createServer(async (request, response) => {
  if (request.url === '/') return response.writeHead(200, { 'content-type': 'text/html' }).end(page);
  if (request.url === '/bundle.js') return createReadStream('bundle.js').pipe(response);
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const result = await POST(
    new Request(`http://localhost${request.url}`, {
      method: 'POST',
      headers: request.headers,
      body: Readable.toWeb(request),
      duplex: 'half',
      signal: gone.signal,
    }),
  );
  response.writeHead(result.status, Object.fromEntries(result.headers));
  await pipeline(result.body, response).catch(() => undefined);
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/`));
