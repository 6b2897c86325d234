// node server.js: serves the page, and passes its requests on to the service. The key stays here.
import { createReadStream } from 'node:fs';
import { createServer } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';

const { BASE_URL, API_KEY, AGENT_ID, PORT = '8080' } = process.env;
const missing = Object.entries({ BASE_URL, API_KEY, AGENT_ID }).filter(([, value]) => !value);
if (missing.length > 0) {
  console.error(
    `Set the variables ${missing.map(([name]) => name).join(', ')}: docs/examples/README.md says how`,
  );
  process.exit(1);
}

const files = {
  '/': ['text/html', new URL('index.html', import.meta.url)],
  '/page.js': ['text/javascript', new URL('page.js', import.meta.url)],
  // The library as one file for browsers.
  '/client.js': ['text/javascript', import.meta.resolve('@chat-batch/client')],
};
/** What the page may do, and nothing else: create a chat, read it, send a message, follow and stop the reply. */
const isAllowed = /^(POST \/api\/chats(\/\d+\/(messages|stop))?|GET \/api\/chats\/\d+\/(messages|stream))$/;

/** Who is signed in at this server. A chat belongs to this user, so nobody can use the chat of another one. */
const userOf = (_request) => 'ada';

async function pass(request, address, response) {
  const { method } = request;
  const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json' };
  const key = request.headers['idempotency-key'];
  if (key !== undefined) headers['idempotency-key'] = key;
  const answer = await fetch(BASE_URL + address.pathname.slice('/api'.length) + queryOf(request, address), {
    method,
    headers,
    ...(method === 'POST' && { body: await bodyOf(request, address) }),
  });
  response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') });
  await pipeline(answer.body, response);
}

function queryOf(request, { searchParams }) {
  if (request.method === 'POST') return '';
  searchParams.set('external_user_id', userOf(request));
  return `?${searchParams}`;
}

async function bodyOf(request, { pathname }) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = { ...JSON.parse(Buffer.concat(chunks)), external_user_id: userOf(request) };
  if (!pathname.endsWith('/stop')) body.agent_id = AGENT_ID;
  return JSON.stringify(body);
}

async function serve(request, response) {
  const address = new URL(request.url, 'http://page');
  const [type, file] = files[address.pathname] ?? [];
  if (request.method === 'GET' && file !== undefined) {
    response.writeHead(200, { 'content-type': type });
    return await pipeline(createReadStream(fileURLToPath(file)), response);
  }
  if (!isAllowed.test(`${request.method} ${address.pathname}`)) return response.writeHead(404).end();
  // A page of another site must not act for the user.
  const isForeign = (request.headers['sec-fetch-site'] ?? 'same-origin') !== 'same-origin';
  if (isForeign) return response.writeHead(403).end();
  await pass(request, address, response);
}

const server = createServer((request, response) =>
  serve(request, response).catch(() => {
    // A page that has gone, or a service that cannot be reached.
    if (response.headersSent) response.destroy();
    else response.writeHead(502).end();
  }),
);
server.listen(Number(PORT), '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/`));
