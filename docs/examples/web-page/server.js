// node server.js: serves the page, and passes its requests on to the service. The key stays here.
import { createReadStream } from 'node:fs';
import { createServer } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';

const { BASE_URL, API_KEY, AGENT_ID, PORT = '8080' } = process.env;

const files = {
  '/': ['text/html', new URL('index.html', import.meta.url)],
  '/page.js': ['text/javascript', new URL('page.js', import.meta.url)],
  // The library as one file for browsers.
  '/client.js': ['text/javascript', import.meta.resolve('@chat-batch/client')],
};
/** What the page may do, and nothing else: create a chat, send a message, stop the reply. */
const isAllowed = /^\/api\/chats(\/\d+\/(messages|stop))?$/;

/** Who is signed in at this server. A chat belongs to this user, so nobody can use the chat of another one. */
const userOf = (_request) => 'ada';

async function pass(request, response) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = { ...JSON.parse(Buffer.concat(chunks)), external_user_id: userOf(request) };
  if (!request.url.endsWith('/stop')) body.agent_id = AGENT_ID;
  const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json' };
  const key = request.headers['idempotency-key'];
  if (key !== undefined) headers['idempotency-key'] = key;
  const answer = await fetch(BASE_URL + request.url.slice('/api'.length), {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') });
  await pipeline(answer.body, response);
}

const server = createServer(async (request, response) => {
  const [type, file] = files[request.url] ?? [];
  if (request.method === 'GET' && file !== undefined) {
    response.writeHead(200, { 'content-type': type });
    return createReadStream(fileURLToPath(file)).pipe(response);
  }
  if (request.method !== 'POST' || !isAllowed.test(request.url)) return response.writeHead(404).end();
  try {
    await pass(request, response);
  } catch {
    // A page that has gone, or a service that cannot be reached.
    if (response.headersSent) response.destroy();
    else response.writeHead(502).end();
  }
});
server.listen(Number(PORT), '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/`));
