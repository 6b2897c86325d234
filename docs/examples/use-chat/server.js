// node server.js: serves the page and its routes, as a framework would.
import { createReadStream } from 'node:fs';
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { createChat, readChat, resumeReply, sendMessage, service, stopReply, uploadFile } from './handler.js';

const routes = {
  'POST /api/chats': createChat,
  'GET /api/chat': readChat,
  'POST /api/chat': sendMessage,
  'DELETE /api/chat': stopReply,
  'GET /api/chat/stream': resumeReply,
  'POST /api/files': uploadFile,
};
/** `npm start` makes the bundle. */
const files = {
  'GET /': ['text/html', 'index.html'],
  'GET /bundle.js': ['text/javascript', 'node_modules/.bundle.js'],
};

async function serve(request, response) {
  const { href, pathname } = new URL(request.url, `http://${request.headers.host}`);
  const name = `${request.method} ${pathname}`;
  const [type, file] = files[name] ?? [];
  if (file !== undefined) {
    response.writeHead(200, { 'content-type': type });
    return await pipeline(createReadStream(fileURLToPath(new URL(file, import.meta.url))), response);
  }
  if (routes[name] === undefined) return response.writeHead(404).end();
  const { method, headers } = request;
  // A page of another site must not act for the user.
  if (method !== 'GET' && (headers['sec-fetch-site'] ?? 'same-origin') !== 'same-origin')
    return response.writeHead(403).end();
  const body = method === 'POST' ? Readable.toWeb(request) : undefined;
  const result = await routes[name](new Request(href, { method, headers, body, duplex: 'half' }));
  response.writeHead(result.status, Object.fromEntries(result.headers));
  if (result.body === null) response.end();
  else await pipeline(result.body, response);
}

try {
  service();
} catch (error) {
  console.error(`${error.message}: docs/examples/README.md says how`);
  process.exit(1);
}
const server = createServer((request, response) =>
  // A page that has gone.
  serve(request, response).catch(() => response.destroy()),
);
server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${server.address().port}/`),
);
