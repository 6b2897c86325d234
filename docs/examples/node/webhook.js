// node webhook.js: receives the events of batches at /hook, and prints each once.
//
// A deployed service calls HTTPS alone: TLS_KEY and TLS_CERT name a key and a certificate, or a proxy with one stands before.
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { unwrapWebhook, WebhookVerificationError } from '@chat-batch/client';

const { WEBHOOK_SECRET, PORT = '8443', TLS_KEY, TLS_CERT } = process.env;
if (!WEBHOOK_SECRET) throw new Error('Set WEBHOOK_SECRET: without it, anybody could send events');
/** Events that have come. Keep them in your database. */
const known = new Set();

async function receive(request, response) {
  if (request.method !== 'POST' || request.url !== '/hook') return response.writeHead(404).end();
  try {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const event = await unwrapWebhook(Buffer.concat(chunks), request.headers, { secret: WEBHOOK_SECRET });
    // An event may come more than once, with the same id.
    if (!known.has(event.id)) console.log(`${event.event}: ${event.data.completed_requests} completed`);
    known.add(event.id);
    response.writeHead(204).end();
  } catch (error) {
    // Also a caller that has gone in the middle of its request.
    console.error(error.message);
    response.writeHead(error instanceof WebhookVerificationError ? 400 : 500).end();
  }
}

const server =
  TLS_KEY === undefined
    ? http.createServer(receive)
    : https.createServer({ key: readFileSync(TLS_KEY), cert: readFileSync(TLS_CERT) }, receive);
server.listen(Number(PORT), '127.0.0.1', () => console.log(`Receives at port ${server.address().port}`));
